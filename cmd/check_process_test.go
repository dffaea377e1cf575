package cmd_test

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckOfARunningPlayer(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "both")
	checked := func(args ...string) (code int, stdout, stderr string) {
		return run(t.Context(), append([]string{"check", "player", g.url, "--port", "0", "--wait", "0s"}, args...)...)
	}
	code, stdout, stderr := checked()
	assert.Equal(t, 4, code)
	assert.Regexp(t, `^evenodd: \d+ requirements? failed\n$`, stderr)
	assert.Regexp(t, `(?m)^pass    P-INV-01   MUST    It answers GAME_INVITATION with GAME_JOIN_ACK\.$`, stdout)
	assert.Regexp(t, `(?m)^FAIL    P-CHO-03   MUST    Its choice is allowed, letter by letter: .*\n        .*both`, stdout)
	assert.Regexp(t, `\n\d+ passed, \d+ failed for \d+ causes?, \d+ warnings? for \d+ causes?, \d+ skipped, took [\d.]+m?s\n$`, stdout)
	assert.NotRegexp(t, `"auth_token\\*": *\\*"[^"*\\]{6}`, stdout)

	code, stdout, _ = checked("--only", "P-INV,P-CHO-04")
	assert.Equal(t, 0, code, stdout)
	assert.NotRegexp(t, `(?m)^\w+ +P-CHO-03 `, stdout)
	code, stdout, _ = checked("--format", "json")
	assert.Equal(t, 4, code)
	require.NoError(t, conform(stdout, reportContract))
}

// reportContract is what check --format json prints.
const reportContract = `{
	"type": "object", "additionalProperties": false,
	"required": ["schema_version", "role", "url", "started", "took_ms", "findings"],
	"properties": {
		"schema_version": {"const": 1},
		"role": {"enum": ["player", "referee", "manager"]},
		"url": {"type": "string", "format": "uri"},
		"started": {"type": "string", "format": "date-time"},
		"took_ms": {"type": "integer", "minimum": 0},
		"findings": {"type": "array", "minItems": 1, "items": {
			"type": "object", "additionalProperties": false,
			"required": ["id", "level", "text", "page", "spec", "hint", "verdict"],
			"properties": {
				"id": {"type": "string", "pattern": "^[PRM]-[A-Z]+-\\d\\d$"},
				"level": {"enum": ["MUST", "SHOULD"]},
				"text": {"type": "string", "pattern": "\\.$"},
				"page": {"type": "string", "pattern": "^docs/protocol\\.md#[a-z_-]+$"},
				"spec": {"type": "string"},
				"hint": {"type": "string"},
				"verdict": {"enum": ["pass", "fail", "warn", "skipped"]},
				"detail": {"type": "string", "minLength": 1},
				"cause": {"type": "string", "pattern": "^[PRM]-[A-Z]+-\\d\\d$"},
				"exchanges": {"type": "array", "minItems": 1, "items": {
					"type": "object", "additionalProperties": false,
					"required": ["to", "request", "took_ms"],
					"properties": {
						"to": {"type": "string", "format": "uri"}, "request": {"type": "string"},
						"status": {"type": "integer"}, "response": {"type": "string"}, "error": {"type": "string"},
						"took_ms": {"type": "integer", "minimum": 0}
					}
				}}
			}
		}},
		"causes": {"type": "array", "items": {
			"type": "object", "additionalProperties": false,
			"required": ["id", "level", "text", "requirements"],
			"properties": {
				"id": {"type": "string", "pattern": "^[PRM]-[A-Z]+-\\d\\d$"},
				"level": {"enum": ["MUST", "SHOULD"]},
				"text": {"type": "string", "minLength": 1},
				"requirements": {"type": "array", "minItems": 1, "items": {"type": "string"}}
			}
		}}
	}
}`

// The agents of this program run as processes and register themselves.
func TestAgentsOfThisProgramConform(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"player", "referee"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			p := start(t, role, "--port", "0", "--manager", "http://localhost:"+port+"/mcp", "--data", "")
			url := p.await(t, `"endpoint":"([^"]+)"`)[1]
			code, stdout, stderr := run(t.Context(), "check", role, url, "--port", port, "--wait", "1m")
			assert.Zero(t, code, stderr)
			assert.NotRegexp(t, `(?m)^(FAIL|warning)`, stdout)
			assert.Zero(t, p.awaitExit(t), p.stderr.String())
		})
	}
}

// The league of the manager has more players than the default.
func TestManagerOfThisProgramConforms(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "5", "--referees", "2", "--data", "")
	code, stdout, stderr := run(t.Context(), "check", "manager", m.url, "--players", "5", "--referees", "2", "--format", "json")
	assert.Zero(t, code, stderr)
	assert.NotContains(t, stdout, m.admin(t))
	var report struct {
		Findings []struct{ ID, Verdict, Detail string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	assert.Greater(t, len(report.Findings), 50)
	for _, f := range report.Findings {
		assert.NotContains(t, []string{"fail", "warn"}, f.Verdict, "%s: %s", f.ID, f.Detail)
	}
	m.interrupt(t) // it answers queries until then, which are examined last
	assert.Zero(t, m.awaitExit(t), m.stderr.String())
}

func TestInterruptedCheckProcess(t *testing.T) {
	t.Parallel()
	g := startThirdPartyPlayer(t, "even")
	port := freePort(t)
	place := "localhost:" + port
	p := start(t, "check", "player", g.url, "--port", port, "--wait", "1m") // for a registration
	for {
		if c, err := net.Dial("tcp", place); err == nil {
			require.NoError(t, c.Close())
			break
		}
	}
	p.endByInterrupt(t)
	assert.Equal(t, "evenodd: interrupted. The test has no result: run it again.\n", p.stderr.String())
	assert.Empty(t, p.stdout.String())
}
