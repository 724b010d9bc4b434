// A plot of values over time.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useTheme } from "./theme";

export interface Series {
  title: string;
  values: (number | null)[];
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
}

/** Distances between the lines of a scale in bytes. */
const BYTE_STEPS = Array.from({ length: 50 }, (_, exponent) => 2 ** exponent);

const COLORS = ["#1098ad", "#e8590c", "#7048e8", "#2f9e44"];

export function Plot({ title, times, series, show, max, isBytes }: Props): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const theme = useTheme();
  const data = [times, ...series.map(({ values }) => values)] as uPlot.AlignedData;
  const latest = series.map(({ title, values }) => {
    const value = values.findLast((value) => value !== null);
    return { title, text: value === undefined || value === null ? "–" : show(value) };
  });
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const color = getComputedStyle(element).color;
    const axis = { stroke: color, grid: { stroke: fade(color, 0.12), width: 1 }, ticks: { show: false }, size: 34 };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: 170,
        legend: { show: false },
        cursor: { y: false, drag: { setScale: false } },
        padding: [8, 4, 0, 0],
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(max ?? 0, high > 0 ? high * 1.1 : 1)] } },
        axes: [
          { ...axis, space: 80, values: (_plot, ticks) => ticks.map(clockOf(ticks)), size: 28 },
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
            fill: index === 0 ? fade(COLORS[0] ?? "", 0.1) : "transparent",
            width: 1.5,
            points: { show: false },
          })),
        ],
      },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 170 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [theme, series.length]);
  useEffect(() => plot.current?.setData(data));
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        {latest.map(({ title, text }, index) => (
          <span key={title}>
            <i class={`color${index}`} aria-hidden="true" /> {title} <b>{text}</b>
          </span>
        ))}
      </figcaption>
      <div
        ref={frame}
        role="img"
        aria-label={`${title}: ${latest.map(({ title, text }) => `${title} ${text}`).join(", ")}`}
      />
    </figure>
  );
}

/** Times of day, with seconds if the ticks are close. */
function clockOf(ticks: number[]): (time: number) => string {
  const isClose = (ticks[1] ?? 0) - (ticks[0] ?? 0) < 60;
  return (time) => new Date(time * 1000).toTimeString().slice(0, isClose ? 8 : 5);
}

/** The color with another opacity. */
function fade(color: string, opacity: number): string {
  return `color-mix(in srgb, ${color} ${opacity * 100}%, transparent)`;
}
