package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd/starter"
	"evenodd/league/protocol"
)

// computers makes two network namespaces with a cable between them: the teacher at 192.0.2.1 and
// the student at 192.0.2.2. The function starts this program, or another one, on one of them.
func computers(t *testing.T) (teacher, student string) {
	t.Helper()
	teacher, student = fmt.Sprintf("evt%d", os.Getpid()), fmt.Sprintf("evs%d", os.Getpid())
	if os.Getuid() != 0 || ip(t, "netns add "+teacher) != nil {
		t.Skip("NOT TESTED: two computers: network namespaces need root and the program ip")
	}
	remove := func(name string) {
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	}
	remove(teacher)
	require.NoError(t, ip(t, "netns add "+student))
	remove(student)
	cable := fmt.Sprintf("link add %s netns %[1]s type veth peer name %s netns %[2]s", teacher, student)
	require.NoError(t, ip(t, cable))
	for i, name := range []string{teacher, student} {
		for _, line := range []string{
			"-n %s link set lo up", "-n %s addr add 192.0.2." + fmt.Sprint(i+1) + "/24 dev %[1]s", "-n %s link set %[1]s up",
		} {
			require.NoError(t, ip(t, fmt.Sprintf(line, name)), line)
		}
	}
	return teacher, student
}

// ip runs the program that configures networks.
func ip(t *testing.T, args string) error {
	t.Helper()
	return exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).Run()
}

// Agents on a second computer join by the address that people see: that of the page, of a match, or the host and the
// port. They register with the address of their own route, without flags. Behind a firewall, they say why the manager
// cannot call them.
func TestAgentsOnASecondComputerAreReached(t *testing.T) {
	t.Parallel()
	teacher, student := computers(t)
	on := func(computer, dir string, command ...string) *process {
		return launch(t, dir, nil, "ip", append([]string{"netns", "exec", computer}, command...)...)
	}
	folder := t.TempDir()
	var guests []*starterAgent
	for _, language := range starter.Languages() {
		t.Run(language.Name, func(t *testing.T) {
			if language.Name == "go" {
				longTest(t) // to compile it takes long
			}
			guest := &starterAgent{starter.Project{Language: language, Role: protocol.RolePlayer},
				filepath.Join(folder, language.Name), nil}
			mustRun(t, "new", guest.Role, "--lang", language.Name, "--name", language.Name, guest.dir)
			guest.build(t)
			guests = append(guests, guest)
		})
	}
	data, players := t.TempDir(), fmt.Sprint(1+len(guests))
	m := on(teacher, data, "evenodd", "up", "--host", "0.0.0.0", "--players", players, "--referees", "1", "--strict")
	m.await(t, `League 2\S+-even-odd-league at http://192\.0\.2\.1:8000/mcp waits for `+players+` players`)
	assert.NotContains(t, m.stderr.String(), "[::]")
	page := m.await(t, `(http://192\.0\.2\.1:8000/)\s`)[1]
	shown := []string{page, page + "matches/R1M1", "192.0.2.1:8000", page}

	// A firewall of the student's computer drops calls of the ports that the agents listen at.
	// Its rule comes before that of local addresses, which is the first one otherwise.
	of, block := "-n "+student, " ipproto tcp dport 8101-8104 iif "+student+" pref 1 blackhole"
	for _, rule := range []string{"add pref 10 lookup local", "del pref 0", "add" + block} {
		require.NoError(t, ip(t, of+" rule "+rule), rule)
	}
	playing := []*process{on(student, data, "evenodd", "player", "--name", "Own", "--port", "8101", "--manager", shown[0],
		"--data", t.TempDir())}
	for i, guest := range guests {
		command := append(guest.program, "--port", fmt.Sprint(8102+i), "--manager", shown[1+i])
		playing = append(playing, on(student, guest.dir, command...))
	}
	playing[0].await(t, `this agent listens at 192\.0\.2\.2`)
	for i, p := range playing {
		reason := fmt.Sprintf(`no answer within 2s at http://192\.0\.2\.2:%d/mcp, (\d+) tries`, 8101+i)
		found := p.await(t, `[Tt]he manager cannot call this agent: `+reason)
		// The manager counts the time from the registration to the reason: it gives up a try after 2 s,
		// and the fourth one after 8.4 s. A wall clock would measure a busy machine.
		assert.Contains(t, []string{"1", "2", "3"}, found[1], "the reason comes within 10 s")
	}

	// An agent with a loopback endpoint gets E025 with the address to register, and names its flags.
	const local = "http://localhost:8105/mcp"
	wrong := [][]string{{"evenodd", "player", "--name", "Lost", "--host", "localhost", "--data", t.TempDir()}}
	for _, guest := range guests {
		wrong = append(wrong, append(slices.Clone(guest.program), "--endpoint", local))
	}
	for i, command := range wrong {
		dir := data
		if i > 0 {
			dir = guests[i-1].dir
		}
		lost := on(student, dir, append(command, "--port", "8105", "--manager", page)...)
		assert.Equal(t, 1, lost.awaitExit(t))
		assert.Regexp(t, `the agent is at 192\.0\.2\.2: register that address.*E025.*`+local+
			`; set another URL by --endpoint, or another address of this computer by --host\n`, lost.stderr.String())
	}

	require.NoError(t, ip(t, of+" rule del"+block))
	awaitSuccess(t, append(playing, m)...)
}
