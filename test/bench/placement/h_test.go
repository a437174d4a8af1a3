package placement
import ("github.com/cotenant-dev/cotenant/mig";"github.com/cotenant-dev/cotenant/test/sim")
func h100() mig.Geometry { p,_ := sim.LookupProduct("H100-80"); var g mig.Geometry
 for _, r := range p.Profiles { q := mig.Profile{Index:r.Index,ID:r.ID,Name:r.Name,Slices:r.ComputeSlices,Max:r.Max,MemoryMiB:int64(r.MemoryMiB),Engines:mig.Engines{r.SMs,r.CopyEngines,r.Decoders,r.Encoders,r.JPEG,r.OFA}}
 for _,s:=range r.Starts{q.Placements=append(q.Placements,mig.Placement{s,r.MemoryUnits})}; g=append(g,q)}; return g}
