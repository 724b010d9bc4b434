package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
)

// Evaluates the rules with Prometheus' engine after each scrape, and prints a line for each alert that fires at its time:
// SECONDS ALERT LABELS. An alert fires once its expression has had the same labels for as long as its rule says.
func printAlerts(rules, folder string) error {
	groups, errs := rulefmt.ParseFile(rules, false, model.LegacyValidation)
	if len(errs) > 0 {
		return errs[0]
	}
	history, times, err := readScrapes(folder)
	if err != nil {
		return err
	}
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
	})
	began := map[string]model.Time{}
	for _, at := range times {
		active := map[string]bool{}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				query, err := engine.NewInstantQuery(context.Background(), history, nil, rule.Expr, at.Time())
				if err != nil {
					return fmt.Errorf("%s: %w", rule.Alert, err)
				}
				vector, err := query.Exec(context.Background()).Vector()
				if err != nil {
					return fmt.Errorf("%s: %w", rule.Alert, err)
				}
				for _, sample := range vector {
					own := labels.NewBuilder(sample.Metric).Del(model.MetricNameLabel).Labels()
					alert := rule.Alert + " " + own.String()
					active[alert] = true
					if _, is := began[alert]; !is {
						began[alert] = at
					}
					if at.Sub(began[alert]) >= time.Duration(rule.For) {
						fmt.Println(at.Unix(), alert)
					}
				}
			}
		}
		for alert := range began {
			if !active[alert] {
				delete(began, alert)
			}
		}
	}
	return nil
}

// The scrapes of a folder, each named by its time in seconds, in order of time.
func readScrapes(folder string) (*history, []model.Time, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.prom"))
	if err != nil {
		return nil, nil, err
	}
	history, times := newHistory(), []model.Time{}
	for _, path := range paths {
		seconds, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(path), ".prom"), 10, 64)
		if err != nil {
			return nil, nil, err
		}
		times = append(times, model.TimeFromUnix(seconds))
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	for _, at := range times {
		families, err := readScrape(filepath.Join(folder, fmt.Sprintf("%d.prom", at.Unix())))
		if err != nil {
			return nil, nil, err
		}
		samples, err := samplesOf(families, at)
		if err != nil {
			return nil, nil, err
		}
		history.add(samples)
	}
	if len(times) == 0 {
		return nil, nil, fmt.Errorf("no *.prom in %s", folder)
	}
	return history, times, nil
}
