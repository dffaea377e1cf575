package protocol

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/words"
)

// page describes the protocol. Its generated parts stand between markers; the rest is written
// by hand. The flag -update rewrites the generated parts.
const page = "../../docs/protocol.md"

var update = flag.Bool("update", false, "write the meanings of members, and the generated parts of "+page)

var generated = regexp.MustCompile(`(?s)<!-- generated: ([^>]+) -->\n(.*?)<!-- end -->`)

// sharedObjects are described once: their heading and the fields.
var sharedObjects = []struct {
	heading string
	fields  []Field
}{
	{"Row of the table", fieldsOf[StandingRow]()},
	{"Record", fieldsOf[Record]()},
	{"Side of a match", fieldsOf[AssignedPlayer]()},
	{"Draw", fieldsOf[Draw]()},
	{"Signature request", fieldsOf[SignatureRequest]()},
	{"Acknowledgement", fieldsOf[Ack]()[envelopeSize:]},
}

func fieldsOf[V any]() []Field { return compile(reflect.TypeFor[V](), "")().Fields }

// shared returns the heading of the shared object with these fields; "" for none.
func shared(fields []Field) string {
	sameName := func(a, b Field) bool { return a.Name == b.Name }
	for _, s := range sharedObjects {
		if fields != nil && slices.EqualFunc(fields, s.fields, sameName) {
			return s.heading
		}
	}
	return ""
}

func anchor(heading string) string {
	return "#" + strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

func link(heading string) string { return "[" + heading + "](" + anchor(heading) + ")" }

// typeText is the type column of a field.
func typeText(f *Field) string {
	switch {
	case f.Kind == KindArray && shared(f.Items.Fields) != "":
		return "array of " + link(shared(f.Items.Fields))
	case f.Kind == KindArray:
		return "array of " + typeText(f.Items) + "s"
	case f.Items != nil && f.Items.null:
		return "object of " + f.Items.Kind.String() + "s or nulls"
	case f.Items != nil:
		return "object of " + f.Items.Kind.String() + "s"
	case f.Kind == KindInteger && f.Values != nil:
		return "integer or string"
	case shared(f.Fields) != "":
		return "object: " + link(shared(f.Fields))
	}
	return f.Kind.String()
}

// allowedText is the column of allowed values.
func allowedText(f *Field) string {
	const usual = 200
	var quoted []string
	for _, v := range f.Values {
		quoted = append(quoted, "`"+v+"`")
	}
	allowed := strings.Join(quoted, ", ")
	switch {
	case f.Kind == KindInteger && f.rule != "":
		return strings.TrimPrefix(f.rule, "an integer ")
	case f.Kind == KindInteger && allowed != "":
		return fmt.Sprintf("from %d, or %s", f.Min, allowed)
	case f.Kind == KindInteger && f.Min >= 0:
		return fmt.Sprintf("from %d", f.Min)
	case allowed != "":
		return allowed
	case f.Form != nil:
		return f.Form.Rule
	case f.Kind == KindNumber:
		return "from 0"
	case f.Kind == KindString && f.Min > 0 && f.Max != usual:
		return fmt.Sprintf("%d to %d characters", f.Min, f.Max)
	case f.Kind == KindString && f.Max > 0 && f.Max != usual:
		return fmt.Sprintf("at most %d characters", f.Max)
	case f.Kind == KindArray && f.Min > 0:
		return "at least " + words.Counted(f.Min, "element")
	case f.Items != nil && f.Items.Form != nil:
		return f.Items.Form.Rule
	}
	return ""
}

// requiredText is the column of required members. Without some members, a reply of a player is an
// error only if the league demands strict replies.
func requiredText(messageType, path string, f *Field) string {
	judged := []string{TypeGameJoinAck, TypeChooseParityResponse, TypeGameMoveResponse}
	switch {
	case f.Optional:
		return "no"
	case slices.Contains(judged, messageType) && !meaningful(path):
		return "[in strict](#replies-of-players)"
	case f.null:
		return "yes, or null"
	}
	return "yes"
}

// A fieldTable writes the rows of a table of fields.
type fieldTable struct {
	messageType string
	rows        []string
}

func (x *fieldTable) add(path string, fields []Field) {
	if n := len(fields) - len(fieldsOf[SignatureRequest]()); n > 0 && shared(fields[n:]) == "Signature request" {
		fields = fields[:n]
		defer func() {
			x.rows = append(x.rows, "| members of a "+link("Signature request")+" | | no | | in a league that signs |")
		}()
	}
	for i := range fields {
		f := &fields[i]
		at := strings.TrimPrefix(path+"."+f.Name, ".")
		x.rows = append(x.rows, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", at, typeText(f), requiredText(x.messageType, at, f), allowedText(f), f.meaning(commentsOfFields())))
		switch {
		case shared(f.Fields) == "" && f.Fields != nil:
			x.add(at, f.Fields)
		case f.Kind == KindArray && shared(f.Items.Fields) == "":
			x.add(at+"[]", f.Items.Fields)
		case f.Items != nil && f.Kind == KindObject:
			x.add(at+".*", f.Items.Fields)
		}
	}
}

const tableHead = "| member | type | required | allowed | meaning |\n| --- | --- | --- | --- | --- |\n"

func tableOfFields(messageType string, fields []Field) string {
	x := fieldTable{messageType: messageType}
	x.add("", fields)
	return tableHead + strings.Join(x.rows, "\n") + "\n"
}

func example(t *testing.T, name string) string {
	text, ok := Example(name)
	require.True(t, ok, "no example of %s", name)
	return "```json\n" + laidOut(t, text, "", 0) + "\n```\n"
}

// laidOut writes JSON with one line for each value that is short, behind a prefix of some length.
func laidOut(t *testing.T, value jsontext.Value, indent string, prefix int) string {
	const wide = 130
	line := value.Clone()
	require.NoError(t, line.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)))
	kind := line.Kind()
	if top := indent == "" && kind == '{'; !top && len(indent)+prefix+len(line) <= wide || kind != '{' && kind != '[' {
		return string(line)
	}
	var parts []string
	inner := indent + "  "
	if kind == '{' {
		for _, m := range ParseObject(value) {
			name := string(Quote(m.Name)) + ": "
			parts = append(parts, inner+name+laidOut(t, m.Value, inner, len(name)))
		}
		return "{\n" + strings.Join(parts, ",\n") + "\n" + indent + "}"
	}
	var elements []jsontext.Value
	require.NoError(t, json.Unmarshal(value, &elements))
	for _, e := range elements {
		parts = append(parts, inner+laidOut(t, e, inner, 0))
	}
	return "[\n" + strings.Join(parts, ",\n") + "\n" + indent + "]"
}

// seconds writes a timeout.
func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// answers returns links to the requests whose result has a type.
func answers(messageType string) string {
	var requests []string
	for _, m := range methodRows {
		if m.Result == messageType {
			name := link(m.Request)
			if m.Request == "" {
				name = link(m.Name)
			}
			requests = append(requests, name)
		}
	}
	return strings.Join(requests, ", ")
}

func aboutMessage(t *testing.T, messageType string) string {
	var text string
	if m, ok := methodOfType[messageType]; ok {
		text = fmt.Sprintf("Method `%s`: %s → %s, within %s. The result is %s.\n\n", m.Name, m.From, m.To, seconds(m.Timeout), link(m.Result))
	} else if requests := answers(messageType); requests != "" {
		text = "Result of " + requests + ".\n\n"
	}
	text += example(t, messageType)
	if body := shapes[messageType]().Fields[envelopeSize:]; shared(body) == "" {
		return text + "\n" + tableOfFields(messageType, body)
	}
	return text + "\nMembers: " + link(shared(shapes[messageType]().Fields[envelopeSize:])) + ".\n"
}

func aboutTool(t *testing.T, method string) string {
	i := slices.IndexFunc(methodRows, func(m MethodRow) bool { return m.Name == method })
	require.GreaterOrEqual(t, i, 0, "no method %s", method)
	m := methodRows[i]
	text := fmt.Sprintf("%s → %s, within %s.", strings.ToUpper(m.From[:1])+m.From[1:], m.To, seconds(m.Timeout))
	if shapes[m.Result] != nil {
		return text + " The result is " + link(m.Result) + ".\n"
	}
	text += " The result is `" + m.Result + "`:\n\n"
	if _, ok := Example(m.Result); ok {
		text += example(t, m.Result) + "\n"
	}
	if method == organiseMethod {
		text = "The request:\n\n" + tableOfFields(method, m.request().Fields[envelopeSize:]) + "\n" + text
	}
	return text + tableOfFields(m.Result, m.result().Fields[envelopeSize:])
}

func methodTable() string {
	text := "| method | request | result | caller | receiver | timeout | repeatable |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	for _, m := range methodRows {
		request, result, repeatable := "–", "`"+m.Result+"`", "yes"
		if m.Request != "" {
			request = link(m.Request)
		}
		if _, ok := shapes[m.Result]; ok {
			result = link(m.Result)
		}
		switch {
		case m.ReadOnly:
			repeatable = "yes, changes nothing"
		case m.Name == organiseMethod:
			repeatable = "no"
		}
		name := "`" + m.Name + "`"
		if m.Request == "" {
			name = "[" + name + "](" + anchor(m.Name) + ")"
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", name, request, result, m.From, m.To, seconds(m.Timeout), repeatable)
	}
	return text
}

// otherNames lists the names in the specification by which a method can be called too.
func otherNames() string {
	text := "| method | also accepted |\n| --- | --- |\n"
	for _, m := range methodRows {
		if len(m.Aliases) > 0 {
			text += "| `" + m.Name + "` | `" + strings.Join(m.Aliases, "`, `") + "` |\n"
		}
	}
	return text
}

// generate returns a generated part of the page.
func generate(t *testing.T, part string) string {
	kind, name, _ := strings.Cut(part, " ")
	switch kind {
	case "methods":
		return methodTable()
	case "names":
		return otherNames()
	case "errors":
		return errorTable(t)
	case "envelope":
		return strings.Replace(tableOfFields("", compile(reflect.TypeFor[Envelope](), "the type")().Fields), "`the type`", "the type of the message, such as `GAME_INVITATION`", 1)
	case "example":
		return example(t, name)
	case "message":
		return aboutMessage(t, name)
	case "tool":
		return aboutTool(t, name)
	case "tools":
		return tableOfFields("", fieldsOf[ToolRequest]()[envelopeSize:])
	case "object":
		for _, s := range sharedObjects {
			if s.heading == name {
				return tableOfFields("", s.fields)
			}
		}
	}
	require.Fail(t, "unknown part", "%q", part)
	return ""
}

// errorTable lists the error codes, with the comments of their constants.
func errorTable(t *testing.T) string {
	source, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	text := "| code | name | JSON-RPC code | meaning | what to do |\n| --- | --- | --- | --- | --- |\n"
	codes := regexp.MustCompile(`Code = "(E\d+)" // (.+?)\. (.)(.*)`).FindAllStringSubmatch(string(source), -1)
	require.Len(t, codes, len(catalogue), "each code has its meaning, and what to do")
	for _, c := range codes {
		code := Code(c[1])
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", code, code.Name(), codesOf(code), c[2], strings.ToLower(c[3])+c[4])
	}
	return text
}

func TestProtocolPageHasTheGeneratedParts(t *testing.T) {
	text := pageText(t)
	made := generated.ReplaceAllStringFunc(text, func(part string) string {
		name := generated.FindStringSubmatch(part)[1]
		return "<!-- generated: " + name + " -->\n" + generate(t, name) + "<!-- end -->"
	})
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(made), 0o644))
		return
	}
	assert.Equal(t, strings.Split(text, "\n"), strings.Split(made, "\n"),
		"run: go test ./league/protocol -run TestProtocolPage -update")
}

func pageText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	return string(text)
}

// sections returns the text of each section of the page by its heading.
func sections(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^##+ `).Split(pageText(t), -1)[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		assert.NotContains(t, all, heading, "two sections have the same anchor")
		all[heading] = text
	}
	return all
}

// walk calls visit with each member of the object and of the values in it.
func (f *Field) walk(path string, visit func(path string, f *Field)) {
	for i := range f.Fields {
		member := &f.Fields[i]
		at := strings.TrimPrefix(path+"."+member.Name, ".")
		visit(at, member)
		member.walk(at, visit)
	}
	if f.Kind == KindArray {
		path += "[]"
	}
	if f.Items != nil {
		f.Items.walk(path, visit)
	}
}

// members calls visit for each member of each message and tool.
func members(visit func(messageType, path string, f *Field)) {
	of := func(messageType string, shape *Field) {
		shape.walk("", func(path string, f *Field) { visit(messageType, path, f) })
	}
	of(TypeLeagueError, shapes[TypeLeagueError]())
	for _, m := range methodRows {
		of(cmp.Or(m.Request, m.Name), m.request())
		of(m.Result, m.result())
	}
}

func TestProtocolPageHasASectionForEachMessageAndTool(t *testing.T) {
	all := sections(t)
	for _, messageType := range MessageTypes() {
		about, _, ok := strings.Cut(all[messageType], "<!-- generated: message "+messageType+" -->")
		assert.True(t, ok, "no section %s", messageType)
		assert.Contains(t, about, ".", "%s begins with a sentence", messageType)
		delete(all, messageType)
	}
	for _, m := range methodRows {
		if m.Request == "" {
			assert.Contains(t, all[m.Name], "<!-- generated: tool "+m.Name+" -->")
			delete(all, m.Name)
		}
	}
	for heading := range all {
		assert.NotRegexp(t, `^[A-Z]+_[A-Z_]+$|^[a-z]+_[a-z_]+$`, heading, "the program has no such message or method")
	}
}

func TestProtocolPageHasARowForEachQuery(t *testing.T) {
	_, table, found := strings.Cut(sections(t)[TypeLeagueQuery], "\n| query | parameters | members of `data` |\n")
	require.True(t, found)
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		named = append(named, row[1])
	}
	assert.Equal(t, Queries[:], named, "the table of queries in "+page)
}

// codesOf returns the JSON-RPC codes of an error code, that of the catalogue first.
func codesOf(code Code) string {
	codes := []int{catalogue[code].rpc}
	for _, m := range methodRows {
		if rpc, ok := m.codes[code]; ok && !slices.Contains(codes, rpc) {
			codes = append(codes, rpc)
		}
	}
	slices.Sort(codes[1:])
	text := fmt.Sprint(codes[0])
	for _, rpc := range codes[1:] {
		text += fmt.Sprintf(", %d", rpc)
	}
	return text
}

// The errors of a message have the JSON-RPC codes of its method: "`E006` (4003)".
func TestProtocolPageHasTheCodesOfEachMethod(t *testing.T) {
	pair := regexp.MustCompile("((?:`E\\d{3}`(?:, | and | or )?)+)\\s\\((-?\\d+)\\)")
	checked := 0
	for heading, text := range sections(t) {
		if heading == "Messages of rounds" {
			heading = TypeRoundAnnouncement
		}
		for _, m := range methodRows {
			if m.Request != heading && m.Name != heading {
				continue
			}
			for _, found := range pair.FindAllStringSubmatch(text, -1) {
				for _, code := range regexp.MustCompile(`E\d{3}`).FindAllString(found[1], -1) {
					rpc, ok := m.codes[Code(code)]
					if !ok {
						rpc = catalogue[Code(code)].rpc
					}
					assert.Equal(t, fmt.Sprint(rpc), found[2], "%s of %s", code, heading)
					checked++
				}
			}
		}
	}
	assert.Greater(t, checked, 30)
}

// mentionable returns all names of the code that the page may mention: of messages, methods, members,
// errors and values.
func mentionable() map[string]bool {
	known := map[string]bool{}
	add := func(texts ...string) {
		for _, text := range texts {
			for _, word := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
				known[word] = true
			}
		}
	}
	for _, m := range methodRows {
		add(m.Name, m.Request, m.Result)
		add(m.Aliases...)
	}
	members(func(_, path string, f *Field) { add(path, strings.Join(f.Values, " "), f.meaning(commentsOfFields())) })
	for code, c := range catalogue {
		add(string(code), c.name)
	}
	add(StatusAcknowledged)
	// Members of data and of context, settings, names of games and of the specification.
	add("next_match undecided known_rounds technical_losses state_reason retry_after_sec",
		"even_odd tic_tac_toe rock_paper_scissors connect_four kuhn_poker place_mark show_hand drop_mark roll_or_hold",
		// cmd checks the games
		"unique_display_names registration_grace_sec announce_lead_sec by_meaning provided_token expected_format agents_config agents json event_type", "params mcp_message league_manager "+LeagueErrorMethod)
	return known
}

func TestProtocolPageNamesNothingUnknown(t *testing.T) {
	text := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(pageText(t), "")
	known := mentionable()
	for _, word := range regexp.MustCompile(`\bE\d{3}\b|\b[A-Z]+(?:_[A-Z]+)+\b`).FindAllString(text, -1) {
		assert.True(t, known[word], "the code does not have %s", word)
	}
	for _, name := range regexp.MustCompile("`[\\w.]*_[\\w.]*`").FindAllString(text, -1) {
		for word := range strings.SplitSeq(strings.Trim(name, "`"), ".") {
			assert.True(t, known[word], "the code does not have %s", name)
		}
	}
}

// A code outside the catalogue has no name and no JSON-RPC code.
func TestEveryCodeIsInTheCatalogue(t *testing.T) {
	source, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`Code = "(E\d+)"`).FindAllSubmatch(source, -1)
	assert.Len(t, codes, len(catalogue))
	for _, code := range codes {
		assert.NotEmpty(t, Code(code[1]).Name(), "%s", code[1])
	}
}

// A method outside the list has no schema, no tool and no section in the page.
func TestEveryMethodIsInTheList(t *testing.T) {
	source, err := os.ReadFile("methods.go")
	require.NoError(t, err)
	assert.Len(t, regexp.MustCompile(`(?m)^\t\w+ += newMethod\[`).FindAll(source, -1), len(methodRows))
}

// Tags have no constants.
func TestTagsHaveTheLimitsOfOrganisers(t *testing.T) {
	most := map[string]int{}
	for _, f := range fieldsOf[OrganiseRequest]() {
		most[f.Name] = f.Max
	}
	assert.Equal(t, MaxOrganiserName, most["by"])
	assert.Equal(t, MaxReason, most["reason"])
}

func TestUnknownWordsOfATagAreFound(t *testing.T) {
	type unknownWord struct {
		Member string `json:"member" rule:"optional,digset"`
	}
	assert.PanicsWithValue(t, "a tag has the unknown word digset", func() { compile(reflect.TypeFor[unknownWord](), "")() })
	type unknownType struct {
		Member complex128 `json:"member"`
	}
	assert.PanicsWithValue(t, "a message has a member of type complex128", func() { compile(reflect.TypeFor[unknownType](), "")() })
}
