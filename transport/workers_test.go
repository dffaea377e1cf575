package transport_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/transport"
)

func TestWorkersEndWithTheirJobs(t *testing.T) {
	const jobs = 10
	w, release := transport.NewWorkers(), make(chan struct{})
	var started sync.WaitGroup
	started.Add(jobs)
	done := make(chan bool, jobs)
	for range jobs {
		w.Go(func() {
			started.Done()
			<-release
			done <- true
		})
	}
	started.Wait() // so they run at the same time
	go close(release)
	w.Wait()
	assert.Len(t, done, jobs)
	assert.False(t, w.Start(transport.JobFunc(func() { t.Error("it ran") })), "no worker is left")
	ran := false
	w.Go(func() { ran = true })
	assert.True(t, ran, "its caller runs it")
}
