package program

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSystemWithoutLimitsRefusesThem(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		want   string
	}{
		{"memory", Limits{Memory: 1 << 30}, "--exec-memory: this system has no such limit"},
		{"processor time", Limits{CPU: 1}, "--exec-cpu: this system has no such limit"},
		{"none", Limits{}, ""},
	} {
		programs := Programs{Limits: tt.limits, withoutLimits: true}
		err := programs.Check()
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.name)
	}
}

func TestLimitsHaveUnits(t *testing.T) {
	for text, want := range map[string]string{
		"512MB": "512MB", "512m": "512MB", "512": "512MB", "2GB": "2GB", "2g": "2GB", "2GiB": "2GB", "1024GB": "1024GB",
		"2000KB": "2000KB", "1": "1MB",
	} {
		size, err := ParseMemory(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, FormatMemory(size))
	}
	for _, text := range []string{"", "0", "-1", "1KB", "1025GB", "1.5GB", "MB", "5TB", "512 MB", "9999999999999999999"} {
		_, err := ParseMemory(text)
		assert.ErrorContains(t, err, "must be a size from 1MB to 1024GB", text)
	}
	for text, want := range map[string]int64{"30s": 30, "30": 30, "5m": 300, "1500ms": 2} {
		seconds, err := ParseCPU(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, seconds)
	}
	for _, text := range []string{"", "0", "-1s", "x", "9999h"} {
		_, err := ParseCPU(text)
		assert.ErrorContains(t, err, "must be a time from 1s to a year", text)
	}
}
