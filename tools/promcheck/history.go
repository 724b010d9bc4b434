package main

import (
	"context"
	"sort"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// The samples of some scrapes in memory, as the engine reads them.
type history struct {
	series map[string]*storage.SeriesEntry
	floats map[string][]chunks.Sample
}

type float struct {
	at    int64
	value float64
}

func newHistory() *history {
	return &history{series: map[string]*storage.SeriesEntry{}, floats: map[string][]chunks.Sample{}}
}

// Adds the samples of the next scrape.
func (h *history) add(samples model.Vector) {
	for _, sample := range samples {
		own := labels.NewBuilder(labels.EmptyLabels())
		for name, value := range sample.Metric {
			own.Set(string(name), string(value))
		}
		series := own.Labels()
		key := series.String()
		h.floats[key] = append(h.floats[key], float{at: int64(sample.Timestamp), value: float64(sample.Value)})
		h.series[key] = storage.NewListSeries(series, h.floats[key])
	}
}

func (h *history) Querier(_, _ int64) (storage.Querier, error) {
	return h, nil
}

func (h *history) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, series := range h.series {
		if matches(series.Labels(), matchers) {
			found = append(found, series)
		}
	}
	sort.Slice(found, func(i, j int) bool { return labels.Compare(found[i].Labels(), found[j].Labels()) < 0 })
	return &set{series: found, at: -1}
}

func matches(series labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(series.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

func (h *history) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (h *history) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (h *history) Close() error {
	return nil
}

type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool {
	s.at++
	return s.at < len(s.series)
}

func (s *set) At() storage.Series                { return s.series[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

func (f float) T() int64                      { return f.at }
func (f float) F() float64                    { return f.value }
func (f float) H() *histogram.Histogram       { return nil }
func (f float) FH() *histogram.FloatHistogram { return nil }
func (f float) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (f float) Copy() chunks.Sample           { return f }
