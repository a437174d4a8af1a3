package placement
import ("testing";"fmt";"runtime";"runtime/debug";"slices";"golang.org/x/sys/unix";resourceapi "k8s.io/api/resource/v1")
func cpu() int64 { var ts unix.Timespec; unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID,&ts); return ts.Nano() }
func strip(p published) published { for _,s:=range p.slices { for i:=range s.Spec.Devices { for j:=range s.Spec.Devices[i].ConsumesCounters { m:=s.Spec.Devices[i].ConsumesCounters[j].Counters; for k,v:=range m { if v.Value.IsZero(){delete(m,k)} } } } }; return p }
func TestCost3(t *testing.T){ runtime.LockOSThread(); tb:=newTable(h100()); p,_:=ours(tb,8); cl,_:=ourClasses(t.Context(),tb.geometry); u,_:=upstream(tb,8); up:=upstreamClasses(tb.geometry); ps,_:=ours(tb,8); ps=strip(ps)
 mk:=func(expr string) classList { c:=classList{}; for k,v:=range cl{c[k]=v}; c["mig.nvidia.com"]=deviceClass("mig.nvidia.com",expr); return c}
 A:="device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'"; O:="device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].?type.orValue('') == 'mig'"
 _ = resourceapi.Device{}
 fill:=func(s *scheduler)*scheduler{for { _,ok,err:=s.place(t.Context(),19); if err!=nil{t.Fatal(err)}; if !ok{return s}}}
 names:=[]string{"upstream","ours","ours stripped","ours slices,upstream expr","ours stripped, ==","ours ==","only type orValue, ours slices"}
 ss:=[]*scheduler{fill(newScheduler(tb,u,up)),fill(newScheduler(tb,p,cl)),fill(newScheduler(tb,ps,cl)),fill(newScheduler(tb,p,mk(A))),fill(newScheduler(tb,ps,mk(O+" && device.attributes['cotenant.dev'].?policy.orValue('default') == 'inference'"))),fill(newScheduler(tb,p,mk(O+" && device.attributes['cotenant.dev'].?policy.orValue('default') == 'inference'"))),fill(newScheduler(tb,p,mk(O)))}
 for ci:=range 2 { ts:=make([][]int64,len(ss)); debug.SetGCPercent(-1)
 for range 150 { runtime.GC(); for i,s:=range ss { t0:=cpu(); s.find(t.Context(),asked("1g.10gb")[ci]); ts[i]=append(ts[i],cpu()-t0) } }
 for i:=range ss { slices.Sort(ts[i]); fmt.Printf("claim %d %-34s %.3fms  ratio %.3f\n",ci,names[i],float64(ts[i][75])/1e6,float64(ts[i][75])/float64(ts[0][75])) } } }
