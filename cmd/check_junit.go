package cmd

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"

	conformance "evenodd/league/inspect/check"
	"evenodd/league/protocol"
)

// A report in JUnit format, with the elements that all readers know. Warnings are in
// the system-out of the suite, because JUnit counts a test with a warning as passed.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string      `xml:"name,attr"`
		Package    string      `xml:"package,attr"`
		ID         int         `xml:"id,attr"`
		Hostname   string      `xml:"hostname,attr"`
		Timestamp  string      `xml:"timestamp,attr"`
		Tests      int         `xml:"tests,attr"`
		Failures   int         `xml:"failures,attr"`
		Errors     int         `xml:"errors,attr"`
		Skipped    int         `xml:"skipped,attr"`
		Time       string      `xml:"time,attr"`
		Properties []junitPair `xml:"properties>property"`
		Cases      []junitCase `xml:"testcase"`
		Out        string      `xml:"system-out"`
		Err        string      `xml:"system-err"`
	}
	junitPair struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		ClassName string        `xml:"classname,attr"`
		Name      string        `xml:"name,attr"`
		Time      string        `xml:"time,attr"`
		Skipped   *junitFailure `xml:"skipped"`
		Failure   *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// printJUnit writes a report for continuous integration: one suite for the role, one
// case for each requirement.
func printJUnit(w io.Writer, r *conformance.Report) error {
	host, _ := os.Hostname() // "" if it fails
	suite := junitSuite{
		Name: r.Role, Package: "evenodd.check", Hostname: cmp.Or(host, "localhost"), Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"),
		Tests: len(r.Findings), Failures: r.Count(conformance.Fail), Skipped: r.Count(conformance.Skipped), Time: inJUnit(r.TookMS),
		Properties: []junitPair{{"url", protocol.Escape(r.URL)}},
	}
	var warnings strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		one := junitCase{ClassName: r.Role + "." + groupOf(f.ID), Name: f.ID + " " + f.Text, Time: inJUnit(lasted(f))}
		switch f.Verdict {
		case conformance.Pass:
		case conformance.Skipped:
			one.Skipped = &junitFailure{Message: protocol.Escape(f.Detail)}
		case conformance.Fail:
			one.Failure = &junitFailure{protocol.Escape(f.Detail), string(f.Level), evidence(f)}
		case conformance.Warn:
			fmt.Fprintf(&warnings, "%s %s\n%s", f.ID, f.Text, evidence(f))
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.Out = warnings.String()
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// evidence shows why a requirement is broken.
func evidence(f *conformance.Finding) string {
	lines := []string{f.Detail}
	for i := range f.Exchanges {
		lines = append(lines, exchangeLines(&f.Exchanges[i], shownInReport)...)
	}
	lines = append(lines, f.Hint, "see "+f.See())
	var text strings.Builder
	for _, l := range lines {
		if l != "" && l != "see " {
			text.WriteString("  " + protocol.Escape(l) + "\n")
		}
	}
	return text.String()
}

// shownInReport is the number of bytes of a body in a JUnit report.
const shownInReport = 2 << 10

// lasted returns the time of the calls in the evidence.
func lasted(f *conformance.Finding) (ms int64) {
	for i := range f.Exchanges {
		ms += f.Exchanges[i].TookMS
	}
	return ms
}

// inJUnit formats a time in seconds.
func inJUnit(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }
