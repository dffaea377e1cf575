package cmd

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"evenodd/league/words"
)

// healthPatience limits a request for the health of an agent.
const healthPatience = 5 * time.Second

// newHealth makes 'evenodd health', which asks an agent for its health.
func newHealth(s streams) *cobra.Command {
	ca := ""
	c := &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask an agent whether it is healthy",
		Long: `Ask an agent for its health (GET /healthz), and print the response. The default is the manager at
http://localhost:8000.

Exit code 0 means that the agent answered within 5 seconds with the status ok, or with the status warning: then the
disk of its data folder is almost full.`,
		Example: `  # Is the manager on this machine healthy?
  evenodd health

  # Is the player at port 8101 healthy?
  evenodd health http://localhost:8101/mcp`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			url := usualManager
			if len(args) > 0 {
				var err error
				t := typedURL{"", "an agent", "http://localhost:8101/mcp", strconv.Itoa(managerPort), pageNames()}
				if url, err = t.complete(args[0]); err != nil {
					return err
				}
			}
			health, err := askHealth(c.Context(), strings.TrimSuffix(strings.TrimRight(url, "/"), "/mcp")+"/healthz", ca)
			if health != nil {
				if failed := printJSON(s.out, health); failed != nil {
					return failed
				}
			}
			return err
		},
	}
	tlsCAFlag(c.Flags(), &ca)
	return c
}

// askHealth returns the response of an agent, and an error unless the agent is healthy. The
// response is nil if there is none.
func askHealth(ctx context.Context, url, ca string) (jsontext.Value, error) {
	trusted, err := roots("tls-ca", ca)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	carrier := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}
	defer carrier.CloseIdleConnections()
	r, err := carrier.RoundTrip(q) // follows no redirect
	if err != nil {
		return nil, fmt.Errorf("no answer from %s: %w: start the agent, or name the URL of another", url, err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("the response of %s breaks off: %w", url, err)
	}
	var health struct {
		Status string `json:"status"`
	}
	switch err := json.Unmarshal(body, &health); {
	case r.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answers with the HTTP status %d: name the URL of an agent, such as "+
			"http://localhost:8101/mcp", url, r.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("%s does not answer with the health of an agent (%s): name the URL of another", url,
			words.Escape(err.Error()))
	case health.Status != "ok" && health.Status != "warning":
		return body, fmt.Errorf("%s is not healthy: its status is %q", url, health.Status)
	}
	return body, nil
}
