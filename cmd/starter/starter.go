// Package starter writes small complete agents to start from: a player or a referee in one of
// several languages, with a test, a Dockerfile and a README. The agents use only the standard
// library of their language.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The sources of a project are those of its language that all roles share, those of the role,
// and those that all languages share. The suffix .tmpl keeps Go files from the toolchain.
//
//go:embed common game go javascript python
var sources embed.FS

// ModuleName is the name of the file of Module.
const ModuleName = "evenodd.py"

// Module is the Python module with which scripts and notebooks play leagues of functions.
func Module() []byte {
	text, _ := sources.ReadFile(path.Join("python", "module", ModuleName)) // embedded files can be read
	return text
}

// A Source is a file to write.
type Source struct{ Name, Text string }

// Game returns the source of a small game that is a program, and its test. Language is python or javascript, gameType
// the identifier of the game, and name its name for people.
func Game(language, gameType, name string) []Source {
	files := map[string][2]string{
		"python":     {"game.py", "test_game.py"},
		"javascript": {"game.mjs", "game.test.mjs"},
	}[language]
	var list []Source
	for _, file := range files {
		text, _ := sources.ReadFile(path.Join("game", language, file+".tmpl")) // embedded files can be read
		list = append(list, Source{strings.Replace(file, "game", gameType, 1),
			strings.NewReplacer("{{TYPE}}", gameType, "{{NAME}}", name).Replace(string(text))})
	}
	return list
}

// A Language is a language in which projects are written.
type Language struct {
	Name  string
	needs string // oldest version that runs the agents
	start string // command that starts an agent
	Test  string // command that runs its tests
}

// Languages returns all languages.
func Languages() []Language {
	return []Language{
		{Name: "python", needs: "Python 3.7", start: "python3 {{ROLE}}.py", Test: "python3 -m unittest"},
		{Name: "javascript", needs: "Node 18.3", start: "node {{ROLE}}.mjs", Test: "node --test"},
		{Name: "go", needs: "Go 1.22", start: "go run .", Test: "go test ./..."},
	}
}

// A Project is a new agent.
type Project struct {
	Language Language
	Role     string // player or referee
	Name     string // display name, without control characters
	Port     int
}

// Start returns the command that starts the agent.
func (p *Project) Start() string { return strings.ReplaceAll(p.Language.start, "{{ROLE}}", p.Role) }

// ErrNotEmpty is the error for a folder that has files.
var ErrNotEmpty = errors.New("the folder is not empty")

// Write writes the files of the project into a folder, which it makes if it does not exist, and
// returns their names in order. It writes nothing into a folder that is not empty.
func (p *Project) Write(dir string) (names []string, err error) {
	before, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case len(before) > 0:
		return nil, fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, from := range []string{
		path.Join(p.Language.Name, "shared"), path.Join(p.Language.Name, p.Role), path.Join("common", p.Role),
	} {
		entries, _ := sources.ReadDir(from) // embedded files can be read
		for _, e := range entries {
			text, _ := sources.ReadFile(path.Join(from, e.Name()))
			name := strings.TrimSuffix(e.Name(), ".tmpl")
			if err := os.WriteFile(filepath.Join(dir, name), []byte(p.fill(string(text))), 0o644); err != nil { //nolint:gosec // source code is no secret
				return nil, err
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// fill replaces the placeholders of a source.
func (p *Project) fill(text string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.Name) // in all languages here
	return strings.NewReplacer(
		`"{{NAME}}"`, `"`+quoted+`"`, "{{NAME}}", p.Name, "{{PORT}}", strconv.Itoa(p.Port), "{{ROLE}}", p.Role,
		"{{START}}", p.Start(), "{{TEST}}", p.Language.Test, "{{NEEDS}}", p.Language.needs,
	).Replace(text)
}
