package simulation

import (
	"context"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"fmt"
	"github.com/rs/zerolog"
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	for _, tr := range []string{Memory, Wire, HTTP} {
		st := time.Now()
		r, err := Run(context.Background(), Options{Players: 20, Referees: 2, Seed: 7, Transport: tr, LeagueID: "x", GameType: "even_odd", Games: rules.NewRegistry(evenodd.Game{}), Log: zerolog.Nop(), Strategies: []string{"random", "contrarian", "mirror"}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(tr, time.Since(st), r.Champion, len(r.Results), r.Results[0])
	}
}
func BenchmarkLeague(b *testing.B) {
	for _, n := range []int{10, 64, 300} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := Run(context.Background(), Options{Players: n, Referees: 2, Seed: 7, Transport: Memory, LeagueID: "x", GameType: "even_odd", Games: rules.NewRegistry(evenodd.Game{}), Log: zerolog.Nop()})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*(n-1)/2), "ns/match")
		})
	}
}
func BenchmarkPar(b *testing.B) {
	b.SetParallelism(2)
	n := 64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := Run(context.Background(), Options{Players: n, Referees: 2, Seed: 7, Transport: Memory, LeagueID: "x", GameType: "even_odd", Games: rules.NewRegistry(evenodd.Game{}), Log: zerolog.Nop()})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*(n-1)/2), "ns/match")
}
