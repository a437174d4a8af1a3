package placement
import ("testing";"fmt")
func TestCost(t *testing.T){ tb:=newTable(h100()); p,err:=ours(tb,8); if err!=nil{t.Fatal(err)}; cl,err:=ourClasses(t.Context(),tb.geometry); if err!=nil{t.Fatal(err)}; u,err:=upstream(tb,8); if err!=nil{t.Fatal(err)}
 for range 3 { cs,err:=costs(t.Context(),newScheduler(tb,p,cl),newScheduler(tb,u,upstreamClasses(tb.geometry)),19,300); if err!=nil{t.Fatal(err)}
 for _,c:=range cs{fmt.Println(c.what,c.ours,c.upstream,float64(c.ours)/float64(c.upstream))} } }
