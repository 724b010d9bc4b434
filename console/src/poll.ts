// Fetches something again and again, while the page is visible.

import { useEffect, useRef, useState } from "preact/hooks";
import { isAborted, onKey } from "./api";

export interface Polled<T> {
  value: T | undefined;
  /** The last one failed. */
  error: Error | undefined;
  /** Fetches again at once. */
  refresh: () => void;
}

/**
 * Fetches again `every` milliseconds after the last response, but spends at most a fifth of the time on it: a list of
 * thousands of topics is fetched less often. Begins anew when `name` changes.
 */
export function usePoll<T>(name: string, every: number, fetch: (signal: AbortSignal) => Promise<T>): Polled<T> {
  const [state, setState] = useState<{ name: string; value?: T; error?: Error }>({ name });
  const refresh = useRef<() => void>(() => {});
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let isFetching = false;
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      if (isFetching) return;
      isFetching = true;
      const started = performance.now();
      try {
        const value = await fetch(stop.signal);
        if (stop.signal.aborted) return;
        setState({ name, value });
      } catch (error) {
        if (stop.signal.aborted || isAborted(error)) return;
        setState((old) => ({ name, value: old.name === name ? old.value : undefined, error: error as Error }));
      } finally {
        isFetching = false;
      }
      const pause = Math.max(every, (performance.now() - started) * 4);
      timer = window.setTimeout(() => void (document.hidden ? undefined : run()), pause);
    };
    refresh.current = () => void run();
    const visible = (): void => void (document.hidden ? undefined : run());
    document.addEventListener("visibilitychange", visible);
    const forget = onKey(() => void run());
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
      forget();
      document.removeEventListener("visibilitychange", visible);
    };
  }, [name]);
  const isCurrent = state.name === name;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    refresh: () => refresh.current(),
  };
}
