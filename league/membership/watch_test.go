package membership_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/membership"
	"evenodd/league/protocol"
)

// pings answers one ping after another.
type pings struct {
	answers []func(ctx context.Context) error
	asked   []time.Duration
	began   time.Time
}

func (p *pings) Call(ctx context.Context, endpoint, bearer, method string, _ any, _ func([]byte) (any, error)) (any, error) {
	n := min(len(p.asked), len(p.answers)-1)
	p.asked = append(p.asked, time.Since(p.began))
	if endpoint != "manager" || bearer != "" || method != "ping" {
		return nil, fmt.Errorf("%s of %s", method, endpoint)
	}
	if err := p.answers[n](ctx); err != nil {
		return nil, err
	}
	return &protocol.Pong{Status: "ok"}, nil
}

func TestWatch(t *testing.T) {
	here := func(context.Context) error { return nil }
	gone := func(context.Context) error { return unreachable{} }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	broken := func(context.Context) error { return errors.New("connection reset") }
	grumpy := func(context.Context) error { return remote(protocol.ErrRateLimited) }
	ailing := func(context.Context) error { return errInternal }
	tests := []struct {
		name    string
		answers []func(context.Context) error
		want    []string
	}{
		{"always there", []func(context.Context) error{here}, nil},
		{"there, whatever it says", []func(context.Context) error{here, grumpy, ailing, here}, nil},
		{"never there", []func(context.Context) error{gone}, []string{"15s away E009"}},
		{"away for a while", []func(context.Context) error{here, gone, gone, gone, here, here}, []string{"30s away E009", "1m15s back"}},
		{"away in two ways", []func(context.Context) error{broken, gone, here}, []string{"15s away E009", "45s back"}},
		{"it hangs", []func(context.Context) error{here, hangs, here}, []string{"35s away E001", "50s back"}},
		{"away twice", []func(context.Context) error{gone, here, gone, grumpy}, []string{"15s away E009", "30s back", "45s away E009", "1m0s back"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				p := &pings{answers: tt.answers, began: time.Now()}
				var told []string
				membership.Watch(ctx, protocol.SystemClock(), p, "manager", 15*time.Second, func(away bool, err error) {
					text := fmt.Sprint(time.Since(p.began), " back")
					if away {
						text = fmt.Sprint(time.Since(p.began), " away ", codeOf(err))
					} else {
						assert.NoError(t, err)
					}
					told = append(told, text)
				})
				assert.Equal(t, tt.want, told)
				assert.Equal(t, 5*time.Minute, time.Since(p.began), "it ends with its context")
				assert.Equal(t, 15*time.Second, p.asked[0])
			})
		})
	}
}

func TestWatchTellsNothingOfItsOwnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(17*time.Second, cancel)
		p := &pings{began: time.Now(), answers: []func(context.Context) error{
			func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		}}
		membership.Watch(ctx, protocol.SystemClock(), p, "manager", 15*time.Second, func(bool, error) {
			assert.Fail(t, "the manager may well be there")
		})
		assert.Equal(t, 17*time.Second, time.Since(p.began))
	})
}
