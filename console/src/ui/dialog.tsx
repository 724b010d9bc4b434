// Dialogs: forms that do something when they are confirmed, and show the broker's error if it refuses.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Safe, visible } from "../escape";

interface Props {
  title: string;
  /** The label of the button that confirms; none if there is nothing to confirm. */
  action?: string;
  isDangerous?: boolean;
  /** Whether it can be confirmed. */
  isReady?: boolean;
  /** The action; the dialog closes when it returns, unless it returns true. */
  onConfirm?: () => Promise<boolean | void>;
  onClose: () => void;
  /** It stays until it is confirmed. */
  isRequired?: boolean;
  children: ComponentChildren;
}

export function Dialog(props: Props): JSX.Element {
  const { title, action, isDangerous, isReady = true, onConfirm, onClose, isRequired, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => before?.focus();
  }, []);
  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy || !isReady || onConfirm === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      if ((await onConfirm()) !== true) onClose();
    } catch (error) {
      setError((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-label={title} onClose={() => (isRequired ? dialog.current?.showModal() : onClose())}>
      <form onSubmit={(event) => void confirm(event)}>
        <h2>{title}</h2>
        {children}
        {error !== undefined && (
          <p class="error" role="alert">
            <Safe text={error} />
          </p>
        )}
        <div class="buttons">
          {!isRequired && (
            <button type="button" onClick={onClose}>
              {action === undefined ? "Close" : "Cancel"}
            </button>
          )}
          {action !== undefined && (
            <button type="submit" class={isDangerous ? "danger" : "primary"} disabled={!isReady || isBusy}>
              {action}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

export function Field({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
}

/** A field into which a name is typed, so that nothing is deleted by a slip. */
export function Confirmation({
  name,
  typed,
  change,
}: {
  name: string;
  typed: string;
  change: (typed: string) => void;
}): JSX.Element {
  return (
    <Field label={`Type ${visible(name)} to confirm`}>
      <input
        spellcheck={false}
        autocomplete="off"
        value={typed}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </Field>
  );
}

/** An error of a view. */
export function Failure({ error }: { error: Error | undefined }): JSX.Element | null {
  if (error === undefined) return null;
  return (
    <p class="error" role="alert">
      <Safe text={error.message} />
    </p>
  );
}
