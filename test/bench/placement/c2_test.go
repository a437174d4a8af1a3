package placement
import ("testing";"fmt";resourceapi "k8s.io/api/resource/v1")
var _ resourceapi.Device
func TestCost2(t *testing.T){ tb:=newTable(h100()); p,_:=ours(tb,8); cl,_:=ourClasses(t.Context(),tb.geometry); u,_:=upstream(tb,8); up:=upstreamClasses(tb.geometry)
 mk:=func(expr string) classList { c:=classList{}; for k,v:=range cl{c[k]=v}; c["mig.nvidia.com"]=deviceClass("mig.nvidia.com",expr); return c}
 A:="device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'"
 for _,v:=range []struct{n string; p published; c classList}{
  {"ours/ours",p,cl},{"ours slices, upstream expr",p,mk(A)},
  {"type ==, policy orValue in",p,mk(A+" && device.attributes['cotenant.dev'].?policy.orValue('default') in ['inference']")},
  {"type ==, policy orValue ==",p,mk(A+" && device.attributes['cotenant.dev'].?policy.orValue('default') == 'inference'")},
  {"type orValue only",p,mk("device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].?type.orValue('') == 'mig'")},
  {"type orValue policy ==",p,mk("device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].?type.orValue('') == 'mig' && device.attributes['cotenant.dev'].?policy.orValue('default') == 'inference'")},
  {"bound",p,mk("device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].?type.orValue('') == 'mig' && device.attributes['cotenant.dev'].?policy == optional.of('inference')")},
  {"upstream/upstream",u,up},
 }{ us:=newScheduler(tb,u,up); for i:=0;i<400;i++{ _,ok,_:=us.place(t.Context(),19); if !ok{break}}; o:=newScheduler(tb,v.p,v.c); for { _,ok,err:=o.place(t.Context(),19); if err!=nil{t.Fatal(err)}; if !ok{break}}
  c:=cost{}; if err:=c.measure(t.Context(),o,us,asked("1g.10gb")[1],false,250); err!=nil{t.Fatal(err)}; fmt.Printf("%-30s %.3f %v\n",v.n,float64(c.ours)/float64(c.upstream),c.ours) } }
