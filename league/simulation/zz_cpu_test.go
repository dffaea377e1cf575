package simulation

import (
	"syscall"
	"testing"
	"runtime/debug"
	"fmt"
	"time"
	"github.com/rs/zerolog"
	"evenodd/rules/evenodd"
	"context"
	"sync"
)
func cpu() time.Duration { var r syscall.Rusage; syscall.Getrusage(0,&r); return time.Duration(r.Utime.Nano()+r.Stime.Nano()) }
func TestCPU(t *testing.T) {
	debug.SetGCPercent(400)
	for range 2 {
	c:=cpu()
	var wg sync.WaitGroup
	for range 2 { wg.Go(func(){ in:=make(chan *int); out:=make(chan *int); go func(){ for v:=range in { out<-v } }(); x:=new(int); for range 200000 { for range 8 { in<-x; <-out } }; close(in)}) }
	wg.Wait()
	floor:=float64(cpu()-c)/400000
	for _,n:=range []int{10,64} {
	c=cpu(); k:=0
	for range 2 { wg.Go(func(){ for range max(1,4000/(n*(n-1)/2)) { _,err:=Run(context.Background(), Options{Players:n,Referees:2,Seed:7,Transport:Memory,LeagueID:"x",GameType:evenodd.Type,Games:benchmarkGames(),Log:zerolog.Nop()}); if err!=nil {panic(err)} } }) ; k+= max(1,4000/(n*(n-1)/2))*n*(n-1)/2 }
	wg.Wait()
	per:=float64(cpu()-c)/float64(k)
	fmt.Printf("n=%d floor cpu %.0f ns, match cpu %.0f ns, ratio %.2f\n", n, floor, per, per/floor)
	}}
}
