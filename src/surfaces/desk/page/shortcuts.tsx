/** Keyboard shortcuts, and the dialog that lists them. */
import type { RefObject, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

const SHORTCUTS: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [["j", "k"], "Next or previous in a list"],
  [["Enter"], "Open it, or press the focused button"],
  [["y", "n"], "Move to the button for yes or no; press Enter to send"],
  [["Esc"], "Back to the inbox; what you typed is kept"],
  [["?"], "Show this list"],
];

/** Single-key shortcuts can interfere with speech input, so they can be turned off. */
const STORED = "jp-desk-shortcuts";

/** The reference opens the dialog. */
export function Shortcuts({
  dialog,
}: {
  readonly dialog: RefObject<HTMLDialogElement | null>;
}): VNode {
  const [isOn, setIsOn] = useState(() => localStorage.getItem(STORED) !== "off");
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isOn || isForAnother(event) || dialog.current?.open === true) return;
      if (press(event.key, () => dialog.current?.showModal())) event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isOn]);
  const toggle = (isWanted: boolean) => {
    setIsOn(isWanted);
    localStorage.setItem(STORED, isWanted ? "on" : "off");
  };
  return (
    <dialog ref={dialog} aria-labelledby="shortcuts">
      <h2 id="shortcuts">Keyboard shortcuts</h2>
      <dl class="shortcuts">
        {SHORTCUTS.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label class="choice">
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ currentTarget }) => toggle(currentTarget.checked)}
        />
        <span>Use these keys</span>
      </label>
      <button type="button" class="primary" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

/** Whether the key is typed into a field, or belongs to a browser shortcut. */
function isForAnother({ target, ctrlKey, metaKey, altKey, isComposing }: KeyboardEvent): boolean {
  const isField =
    target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
  // Radio buttons and checkboxes take no text.
  const isText =
    isField && !(target instanceof HTMLInputElement && /^(radio|checkbox)$/.test(target.type));
  return isText || ctrlKey || metaKey || altKey || isComposing;
}

/** Returns whether the key is a shortcut here. */
function press(key: string, openList: () => void): boolean {
  switch (key) {
    case "j":
      return step(1);
    case "k":
      return step(-1);
    case "y":
    case "n":
      return focus(document.querySelector(`main [data-key="${key}"]`));
    case "Escape":
      if (!location.hash.startsWith("#/inquiries/") || hasSecret()) return false;
      location.hash = "#/";
      return true;
    case "?":
      openList();
      return true;
    default:
      return false;
  }
}

/** A typed secret is stored nowhere else. */
function hasSecret(): boolean {
  const field = document.querySelector<HTMLInputElement>("main input[type=password]");
  return field !== null && field.value !== "";
}

function step(by: 1 | -1): boolean {
  const items = [...document.querySelectorAll("main [data-item]")];
  const now = items.findIndex((item) => item === document.activeElement);
  const next = now === -1 ? (by === 1 ? 0 : items.length - 1) : now + by;
  return focus(items[next] ?? null);
}

function focus(element: Element | null): boolean {
  if (!(element instanceof HTMLElement)) return false;
  element.focus();
  return true;
}
