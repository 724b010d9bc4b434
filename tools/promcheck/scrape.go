package main

import (
	"os"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A scrape's metrics by name.
func readScrape(path string) (map[string]*dto.MetricFamily, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(file)
}

// The samples of a scrape, at a time, with the labels and the metric that Prometheus adds to those of one broker.
func samplesOf(families map[string]*dto.MetricFamily, at model.Time) (model.Vector, error) {
	up := model.Metric{model.MetricNameLabel: "up"}
	all := model.Vector{{Metric: named(up), Timestamp: at, Value: 1}}
	for _, family := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: at}, family)
		if err != nil {
			return nil, err
		}
		for _, sample := range samples {
			named(sample.Metric)
		}
		all = append(all, samples...)
	}
	return all, nil
}

func named(metric model.Metric) model.Metric {
	metric[model.JobLabel] = "rawline"
	metric[model.InstanceLabel] = "127.0.0.1:51313"
	return metric
}
