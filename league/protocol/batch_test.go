package protocol

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBatchReturnsEachValueOnce(t *testing.T) {
	const callers, calls = 4, 3 * batchSize
	var b Batch[Ack]
	var mu sync.Mutex
	returned := map[*Ack]bool{}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range calls {
				v := b.New()
				assert.Zero(t, *v)
				v.Status = "used"
				mu.Lock()
				returned[v] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	assert.Len(t, returned, callers*calls)
}
