package placement
import ("testing";"fmt";"time")
func TestSched(t *testing.T){ tb:=newTable(h100()); 
 for _,which:=range []string{"ours","upstream"} { var p published; var err error; var cl classList
 if which=="ours" { p,err=ours(tb,8); if err!=nil{t.Fatal(err)}; cl,err=ourClasses(t.Context(),tb.geometry) } else { p,err=upstream(tb,8); cl=upstreamClasses(tb.geometry)}; if err!=nil{t.Fatal(err)}
 for n,c:=range cl { fmt.Println(n,c.Spec.Selectors[0].CEL.Expression)}
 for _,s:=range p.slices[:2] { fmt.Println(s.Name,len(s.Spec.Devices),len(s.Spec.SharedCounters)); for _,d:=range s.Spec.Devices{fmt.Print(d.Name," ",len(d.Attributes)," ")}; fmt.Println()}
 m:=mixes()[0]; cs,_:=demand(m,tb,8,.85,1,1000); t0:=time.Now(); o,err:=churn(t.Context(),tb,8,cs,newScheduler(tb,p,cl)); fmt.Println(o,err,time.Since(t0)/time.Duration(len(cs))) } }
