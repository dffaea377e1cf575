package audit

import "runtime"

// inOrder reads each of some inputs, several at the same time, and uses what was read
// in their order, one after the other.
func inOrder[I, O any](inputs []I, read func(I) O, use func(I, O)) {
	type job struct {
		input  I
		output chan O
	}
	workers := runtime.GOMAXPROCS(0)
	jobs, queue := make(chan job), make(chan job, 4*workers)
	for range workers {
		go func() {
			for j := range jobs {
				j.output <- read(j.input)
			}
		}()
	}
	go func() {
		for _, input := range inputs {
			j := job{input, make(chan O, 1)}
			queue <- j
			jobs <- j
		}
		close(jobs)
		close(queue)
	}()
	for j := range queue {
		use(j.input, <-j.output)
	}
}
