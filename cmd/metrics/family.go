package metrics

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxLabels is the largest number of labels of a metric.
const maxLabels = 3

// A family is a metric: a series for each combination of the values of its labels. It is safe for concurrent use.
type family struct {
	name, help string
	kind       string // counter, gauge or histogram
	labels     []string
	limits     []float64  // of the buckets of a histogram, in ascending order
	read       func(Emit) // tells the series at each scrape; nil if add counts them

	mu     sync.Mutex
	series map[[maxLabels]string]*series
}

// A series is a counter, a gauge or a histogram.
type series struct {
	value  float64  // the sum of the values of a histogram
	counts []uint64 // of the values in each bucket of a histogram; the last one is of those above all limits
}

// add adds to a counter or gauge, or counts a value in a histogram. The values of the labels have the order of labels.
func (f *family) add(value float64, labels ...string) {
	var key [maxLabels]string
	copy(key[:], labels)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.series[key]
	if s == nil {
		if f.series == nil {
			f.series = map[[maxLabels]string]*series{}
		}
		s = &series{counts: make([]uint64, len(f.limits)+1)}
		f.series[key] = s
	}
	s.value += value
	bucket, _ := slices.BinarySearch(f.limits, value) // a limit belongs to its bucket
	s.counts[bucket]++
}

// write appends the family in the text format 0.0.4: labels by name, series by the values of their labels. A family
// without series is left out.
func (f *family) write(text *bytes.Buffer) {
	if f.read != nil {
		now := &family{name: f.name, help: f.help, kind: f.kind, labels: f.labels}
		f.read(now.add)
		f = now
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.series) == 0 {
		return
	}
	byLabels := make(map[string]*series, len(f.series))
	var order []string
	for values, s := range f.series {
		labels := f.pairs(values)
		byLabels[labels] = s
		order = append(order, labels)
	}
	slices.Sort(order)
	fmt.Fprintf(text, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	for _, labels := range order {
		if s := byLabels[labels]; f.kind == "histogram" {
			f.writeHistogram(text, labels, s)
		} else {
			line(text, f.name, labels, number(s.value))
		}
	}
}

// writeHistogram writes the lines of a histogram. The count of a bucket includes those of all buckets before it.
func (f *family) writeHistogram(text *bytes.Buffer, labels string, s *series) {
	var total uint64
	for i, count := range s.counts {
		total += count
		limit := math.Inf(1)
		if i < len(f.limits) {
			limit = f.limits[i]
		}
		line(text, f.name+"_bucket", labels+`,le="`+number(limit)+`"`, strconv.FormatUint(total, 10))
	}
	line(text, f.name+"_sum", labels, number(s.value))
	line(text, f.name+"_count", labels, strconv.FormatUint(total, 10))
}

func line(text *bytes.Buffer, name, labels, value string) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(text, "%s%s %s\n", name, labels, value)
}

// pairs is the labels with their values, as they stand in a line.
func (f *family) pairs(values [maxLabels]string) string {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	pairs := make([]string, len(f.labels))
	for i, label := range f.labels {
		pairs[i] = label + `="` + escape.Replace(values[i]) + `"`
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// number is a value in the text format.
func number(value float64) string {
	if math.IsInf(value, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
