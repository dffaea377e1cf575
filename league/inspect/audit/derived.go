package audit

import (
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// checkDerived checks a match file whose transcript is in a results file, against that
// file; against the journal if the record is nil.
func (a *auditor) checkDerived(f, record *matchFile) {
	if !a.checkIdentity(f) || !a.checkHasResult(f) {
		return
	}
	d := f.value
	checkHeader(a, &f.document, RuleMatchFile, location{matchID: f.match.id})
	if len(d.Transcript) > 0 {
		f.find(a, RuleMatchFile, "/transcript", "it has a transcript, although transcript_file is %s", quoted(&d.TranscriptFile))
	}
	if record == nil {
		a.compareResult(f)
		if a.completed() || !a.hasGrown(d.TranscriptFile) {
			a.missing.records = append(a.missing.records, f)
		}
		return
	}
	want := *record.value
	want.SchemaVersion, want.LastUpdated, want.Transcript = d.SchemaVersion, d.LastUpdated, d.Transcript
	want.Digest = d.Digest
	want.TranscriptFile = record.file[strings.LastIndex(record.file, "/")+1:]
	if acknowledges(d.Lifecycle, want.Lifecycle) || continues(want.Lifecycle, d.Lifecycle) {
		want.Lifecycle, want.Refusal, want.Omitted = d.Lifecycle, d.Refusal, d.Omitted
	}
	for _, diff := range differences(d, &want) {
		rule := RuleMatchFile
		if strings.HasPrefix(string(diff.member), "/scoring") {
			rule = RulePoints
		}
		f.find(a, rule, diff.member, "%s is %s; in line %d of %s it is %s", name(diff.member), diff.got, record.line(diff.member), want.TranscriptFile, diff.want)
	}
}

// acknowledges tells whether the only news of a lifecycle is the acknowledgement. The record
// of it may be lost.
func acknowledges(l, before store.Lifecycle) bool {
	last := len(l.States) - 1
	return continues(l, before) && len(before.States) == last && l.State == store.StateAcknowledged && protocol.ValidTimestamp(l.States[last].At)
}

// continues tells whether a lifecycle goes on from another one. Both must name their last
// state.
func continues(l, before store.Lifecycle) bool {
	n, end := len(before.States), len(l.States)-1
	return n > 0 && n <= end && slices.Equal(l.States[:n], before.States) && before.State == before.States[n-1].State && l.State == l.States[end].State
}

// missingFiles are files and records that a league should have.
type missingFiles struct {
	files   []string     // ids of matches with a result, but without a file or a record
	records []*matchFile // that name a results file without their match
	derived int          // match files that the manager can write again
}

// maxMissing is how many missing files are reported one by one.
const maxMissing = 20

func (m *missingFiles) find(a *auditor) {
	folder := location{file: relative(a.dir, a.dir.Matches(a.id))}
	for i, id := range m.files {
		if i == maxMissing {
			a.findMatchFile(folder, "%d more matches have a result, but no file", len(m.files)-i)
			break
		}
		a.findMatchFile(location{file: relative(a.dir, a.dir.Match(a.id, id)), matchID: id},
			"the match has a result, but this file does not exist")
	}
	for i, f := range m.records {
		if i == maxMissing {
			a.findMatchFile(folder, "%d more matches have a file, but no record", len(m.records)-i)
			break
		}
		a.findMatchFile(location{file: f.file, line: f.line("/transcript_file"), matchID: f.match.id},
			"transcript_file is %s, but attempt %d at %s has no usable record in it", quoted(&f.value.TranscriptFile), f.value.Attempt, f.match.id)
	}
	if m.derived > 0 {
		a.note(RuleMatchFile, folder, "%s with a record, but without a file%s", protocol.Counted(m.derived, "match"), writtenAgain)
	}
}
