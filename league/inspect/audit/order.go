package audit

import "runtime"

// inOrder reads each of some inputs, several at the same time, and uses what was read
// in their order, one after the other.
func inOrder[I, O any](inputs []I, read func(I) O, use func(I, O)) {
	queue := make(chan chan O, 4*runtime.GOMAXPROCS(0))
	go func() {
		for _, input := range inputs {
			output := make(chan O, 1)
			queue <- output
			go func() { output <- read(input) }()
		}
	}()
	for _, input := range inputs {
		use(input, <-<-queue)
	}
}
