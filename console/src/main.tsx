// The console: a page that shows the contents of its broker.

import { type JSX, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { forgetKey, get, hasKey, keyNeeded, onKey, setKey, type Stats } from "./api";
import { toggleClock, useClock } from "./clock";
import { bytes, seconds } from "./format";
import { usePoll } from "./poll";
import { place, useRoute } from "./route";
import "./style.css";
import "uplot/dist/uPlot.min.css";
import { Dialog, Field } from "./ui/dialog";
import { focusContent, Help, useShortcuts } from "./ui/shortcuts";
import { applyTheme, theme, toggleTheme, useTheme } from "./ui/theme";
import { Broker } from "./views/broker";
import { Group } from "./views/group";
import { Groups } from "./views/groups";
import { Measurements, useAvailable } from "./views/measurements";
import { Topic } from "./views/topic";
import { Topics } from "./views/topics";

const THEMES = { auto: "◐", light: "☀", dark: "☾" };

function App(): JSX.Element {
  const route = useRoute();
  const [isHelping, setHelping] = useState(false);
  const [needsKey, setNeedsKey] = useState(keyNeeded());
  useEffect(() => onKey(() => setNeedsKey(keyNeeded())), []);
  useShortcuts(() => setHelping(true));
  useTheme();
  const clock = useClock();
  const stats = usePoll("stats", 10_000, (signal) => get<Stats>("/stats", { signal }));
  const hasMeasurements = useAvailable();
  const section = route.parts[0] ?? "";
  useEffect(() => {
    document.title = [route.parts[1] || section || "topics", "Rawline"].join(" · ");
  }, [location.hash]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), focusContent())}>
        Skip to the content
      </a>
      <header>
        <span class="brand">Rawline</span>
        <nav aria-label="Sections">
          <Tab to="topics" title="Topics" isCurrent={["", "topics", "topic"].includes(section)} />
          <Tab to="groups" title="Groups" isCurrent={["groups", "group"].includes(section)} />
          {hasMeasurements && <Tab to="measurements" title="Measurements" isCurrent={section === "measurements"} />}
          <Tab to="broker" title="Broker" isCurrent={section === "broker"} />
        </nav>
        <span class="gap" />
        <Strip stats={stats.value} />
        {hasKey() && (
          <button type="button" class="plain" onClick={forgetKey}>
            Change key
          </button>
        )}
        <button
          type="button"
          class="plain"
          aria-label={`Times: ${clock}`}
          title={`Times: ${clock === "UTC" ? "UTC" : "of this browser's time zone"}   u`}
          onClick={toggleClock}
        >
          {clock}
        </button>
        <button
          type="button"
          class="plain"
          aria-label={`Theme: ${theme()}`}
          title={`Theme: ${theme()}   d`}
          onClick={toggleTheme}
        >
          {THEMES[theme()]}
        </button>
        <button
          type="button"
          class="plain"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts   ?"
          onClick={() => setHelping(true)}
        >
          ?
        </button>
      </header>
      {/* Plots have no focus, so keys scroll the view that consists of them. */}
      <div id="content" tabIndex={section === "broker" ? 0 : -1}>
        {section === "topic" ? (
          <Topic key={route.parts[1]} route={route} />
        ) : section === "groups" ? (
          <Groups />
        ) : section === "group" ? (
          <Group key={route.parts[1]} route={route} />
        ) : section === "measurements" ? (
          <Measurements route={route} />
        ) : section === "broker" ? (
          <Broker stats={stats} />
        ) : (
          <Topics />
        )}
      </div>
      {isHelping && <Help onClose={() => setHelping(false)} />}
      {needsKey && <KeyDialog />}
    </>
  );
}

function Tab({ to, title, isCurrent }: { to: string; title: string; isCurrent: boolean }): JSX.Element {
  return (
    <a href={place([to])} aria-current={isCurrent ? "page" : undefined}>
      {title}
    </a>
  );
}

/** The summary that is always visible. */
function Strip({ stats }: { stats: Stats | undefined }): JSX.Element | null {
  const newest = (name: string): number => stats?.steps[name]?.at(-1) ?? 0;
  if (stats === undefined || newest("took_ms") === 0) return null;
  const rate = (name: string): string => `${bytes((newest(name) * 1000) / newest("took_ms"))}/s`;
  const p99 = stats.steps["commit_p99_seconds"]?.at(-1) ?? null;
  return (
    <span class="strip" title="The last ten seconds">
      <span>
        in <b>{rate("append_bytes")}</b>
      </span>
      <span>
        out <b>{rate("read_bytes")}</b>
      </span>
      <span>
        commit p99 <b>{p99 === null ? "–" : seconds(p99)}</b>
      </span>
      <span>
        memory <b>{((100 * newest("pool_used_bytes")) / stats.pool_bytes).toFixed(0)} %</b>
      </span>
    </span>
  );
}

function KeyDialog(): JSX.Element {
  const [key, setTyped] = useState("");
  return (
    <Dialog
      title="This broker requires a key"
      action="Continue"
      isReady={key !== ""}
      isRequired
      onConfirm={async () => setKey(key)}
      onClose={() => undefined}
    >
      {hasKey() && <p class="error">The broker has refused the key.</p>}
      <Field label="API key" hint="Kept until this tab is closed">
        <input
          autofocus
          type="password"
          autocomplete="off"
          value={key}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </Field>
    </Dialog>
  );
}

applyTheme();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
