package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSeedingFileIsUTF8AndOfLimitedSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seeds.txt")
	for _, tt := range []struct{ name, text, problem string }{
		{"byte order mark and CRLF", "\ufeffJörg\r\n\r\n Ann B \r\n", ""},
		{"Latin-1", "J\xf6rg\nAnn B\n", ": the file is not in UTF-8: save it as UTF-8"},
		{"too large", strings.Repeat("a\n", maxNamesFile), ": the file has more than 4194304 bytes"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
		chosen, err := (&leagueSettings{format: "swiss", seeding: path}).tournament(2, 1, nil)
		if tt.problem != "" {
			assert.ErrorContains(t, err, path+tt.problem, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		assert.Equal(t, []string{"Jörg", "Ann B"}, chosen.Seeding, tt.name)
	}
}
