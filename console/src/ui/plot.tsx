// A plot of values over time.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { dateOf, stepTime, timeOf, useClock } from "../clock";
import { useTheme } from "./theme";

export interface Series {
  title: string;
  values: (number | null | undefined)[];
}

interface Props {
  title: string;
  /** In seconds since 1970. */
  times: number[];
  series: Series[];
  show: (value: number) => string;
  /** The upper end of the scale, where it has one. */
  max?: number;
  /** Whether a scale in powers of two reads best. */
  isBytes?: boolean;
  /** External measurements: any values, over any time, with gaps, and a legend elsewhere. */
  measured?: Measured;
}

interface Measured {
  /** The visible part of the title. */
  heading: ComponentChildren;
  height: number;
  /** The only line to draw. */
  only: number | undefined;
  /** Called with the place of the time under the pointer. */
  onPoint: (index: number | undefined) => void;
  /** Called with a range that was dragged over, in seconds since 1970. */
  onRange: (from: number, to: number) => void;
}

/** Distances between the lines of a scale in bytes. */
const BYTE_STEPS = Array.from({ length: 50 }, (_, exponent) => 2 ** exponent);

/** Distances between the labels of times in seconds: none is below the labels' resolution, so none is repeated. */
const TIME_STEPS = [
  [1, 2, 5, 10, 15, 30],
  [1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60),
  [1, 2, 3, 4, 6, 12].map((hours) => hours * 3600),
  [1, 2, 7, 14, 30, 90, 365].map((days) => days * 86_400),
].flat();

const COLORS = [
  "#1098ad",
  "#e8590c",
  "#7048e8",
  "#2f9e44",
  "#d6336c",
  "#f08c00",
  "#1971c2",
  "#868e96",
  "#66a80f",
  "#ae3ec9",
];

/** The class of a line's color. */
export const colorOf = (index: number): string => `color${index % COLORS.length}`;

export function Plot({ title, times, series, show, max, isBytes, measured }: Props): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const theme = useTheme();
  const clock = useClock();
  const height = measured?.height ?? 170;
  // Later calls use the latest callback.
  const calls = useRef(measured);
  calls.current = measured;
  // Around a single time, the library would show days.
  const isSingle = times.length === 1 && measured === undefined;
  const data = [
    isSingle ? [(times[0] ?? 0) - SECONDS_MIN, ...times] : times,
    ...series.map(({ values }) => (isSingle ? [null, ...values] : values)),
  ] as uPlot.AlignedData;
  const latest = series.map(({ title, values }) => {
    const value = values.findLast((value) => value != null);
    return { title, text: value == null ? "–" : show(value) };
  });
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const color = getComputedStyle(element).color;
    const axis = { stroke: color, grid: { stroke: fade(color, 0.12), width: 1 }, ticks: { show: false }, size: 34 };
    const zeroBased: uPlot.Range.Function = (_plot, _low, high) => [
      0,
      Math.max(max ?? 0, high > 0 ? high * 1.1 : 1),
    ];
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: {
          y: false,
          drag: { setScale: false, x: measured !== undefined },
          points: { show: measured !== undefined },
        },
        // Labels of the axes aren't cut.
        padding: [8, 24, 0, 0],
        tzDate: (time) =>
          clock === "UTC" ? uPlot.tzDate(new Date(time * 1000), "Etc/UTC") : new Date(time * 1000),
        scales: {
          x: { range: overSeconds },
          y: { range: measured === undefined ? zeroBased : aroundValues },
        },
        axes: [
          measured === undefined
            ? {
                ...axis,
                incrs: TIME_STEPS,
                space: 80,
                values: (_plot, ticks) => ticks.map(clockOf(ticks)),
                size: 28,
              }
            : { ...axis, incrs: TIME_STEPS, space: 90, size: 40, values: dated },
          {
            ...axis,
            ...(isBytes ? { incrs: BYTE_STEPS } : {}),
            size: 64,
            space: 34,
            values: (_plot, ticks) => ticks.map(show),
          },
        ],
        series: [
          {},
          ...series.map(({ title }, index) => ({
            label: title,
            stroke: COLORS[index % COLORS.length] ?? "",
            fill: index === 0 && measured === undefined ? fade(COLORS[0] ?? "", 0.1) : "transparent",
            width: 1.5,
            points: { size: 5, filter: measured === undefined ? aloneAboveZero : alone },
          })),
        ],
        hooks: {
          setCursor: [(plot) => calls.current?.onPoint(plot.cursor.idx ?? undefined)],
          setSelect: [
            (plot) => {
              const { left, width } = plot.select;
              if (width < DRAG_MIN) return;
              calls.current?.onRange(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [theme, clock, series.length]);
  useEffect(() => plot.current?.setData(data), [times, series]);
  useEffect(() => {
    const { only } = measured ?? {};
    series.forEach((_, index) =>
      plot.current?.setSeries(index + 1, { show: only === undefined || only === index }),
    );
  }, [theme, clock, series.length, measured?.only]);
  const texts = latest.map(({ title, text }) => `${title} ${text}`);
  return (
    <figure class="plot">
      <figcaption>
        <strong>{measured?.heading ?? title}</strong>
        {measured === undefined &&
          latest.map(({ title, text }, index) => (
            <span key={title}>
              <i class={colorOf(index)} aria-hidden="true" /> {title} <b>{text}</b>
            </span>
          ))}
      </figcaption>
      <div ref={frame} role="img" aria-label={`${title}: ${texts.slice(0, 10).join(", ")}`} />
    </figure>
  );
}

/** Pixels of a drag that isn't a click. */
const DRAG_MIN = 6;

/** A scale around the values, from zero unless that would hide how they differ. */
const aroundValues: uPlot.Range.Function = (_plot, low, high) => {
  if (low === null || high === null) return [0, 1];
  const span = high - low || Math.abs(high) || 1;
  const from = low >= 0 && low < span ? 0 : low - span * 0.1;
  const to = high <= 0 && -high < span ? 0 : high + span * 0.1;
  return [from, to];
};

/** The values without neighbors, which no line shows; all of them if there is room for points. */
const alone: uPlot.Series.Points.Filter = (plot, line, show) =>
  show ? null : withoutNeighbors(plot.data[line] ?? [], (value) => typeof value === "number");

/** The same where a line at zero shows nothing: an hour of steps has less than a pixel for each. */
const aloneAboveZero: uPlot.Series.Points.Filter = (plot, line) =>
  withoutNeighbors(plot.data[line] ?? [], (value) => typeof value === "number" && value !== 0);

function withoutNeighbors(
  values: ArrayLike<number | null | undefined>,
  isThere: (value: number | null | undefined) => boolean,
): number[] {
  const places = [...Array.from(values).entries()].filter(([, value]) => value !== undefined);
  const has = (index: number): boolean => isThere(places[index]?.[1]);
  return [...places.keys()]
    .filter((index) => has(index) && !has(index - 1) && !has(index + 1))
    .map((index) => places[index]?.[0] ?? 0);
}

/** The least seconds on a scale, whose labels are whole seconds. */
const SECONDS_MIN = 30;
const overSeconds: uPlot.Range.Function = (_plot, from, to) => [Math.min(from, to - SECONDS_MIN), to];

/** Times of day, with the date below the first one and where a day begins. */
const dated: uPlot.Axis.DynamicValues = (_plot, ticks) => {
  const time = clockOf(ticks);
  const dates = ticks.map((tick) => dateOf(tick * 1000));
  const isDays = ticks.every((tick) => stepTime(tick * 1000, 60_000).endsWith(" 00:00"));
  if (isDays) return dates;
  return ticks.map((tick, index) =>
    dates[index] === dates[index - 1] ? time(tick) : `${time(tick)}\n${dates[index]}`,
  );
};

/** Times of day, with seconds if the ticks are close. */
function clockOf(ticks: number[]): (time: number) => string {
  const isClose = (ticks[1] ?? 0) - (ticks[0] ?? 0) < 60;
  return (time) => timeOf(time * 1000, isClose);
}

/** The color with another opacity. */
function fade(color: string, opacity: number): string {
  return `color-mix(in srgb, ${color} ${opacity * 100}%, transparent)`;
}
