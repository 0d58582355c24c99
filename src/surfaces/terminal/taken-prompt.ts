/**
 * The notice that takes the place of a prompt that was taken away: answered elsewhere, withdrawn or late. It keeps what
 * the user goes on typing for that prompt. No other prompt takes keys before the user has dismissed it.
 */
import { wrapWords } from "../render/index.ts";
import {
  type TakenNotice,
  type TakenPrompts,
  takenPrompts,
  type TerminalDevice,
} from "./controlling-terminal.ts";
import { isCancelKey, type Key, type KeyName } from "./key.ts";
import { footerRows, stackRows } from "./question-rows.ts";
import { bufferOf, editBuffer, layOutText, type TextBuffer } from "./text-buffer.ts";
import type { Canvas, Frame, Widget } from "./widget.ts";

/** The label of what is typed at the notice. */
export const NOT_SENT = "Not sent:";
const DISMISSING: ReadonlySet<KeyName> = new Set(["enter", "up", "down", "left", "right"]);

export function findNotice(device: TerminalDevice): TakenNotice | undefined {
  return takenPrompts.get(device)?.notice;
}

/** Shows the notice from now on. A notice that the user has not dismissed yet stays. */
export function noticeTaken(
  device: TerminalDevice,
  { message, isSecret }: Pick<TakenNotice, "message" | "isSecret">,
): void {
  const taken = openTaken(device);
  taken.notice ??= { message, isSecret, line: bufferOf("") };
  if (isSecret && !taken.notice.isSecret) taken.notice = { ...taken.notice, isSecret };
}

/** Replaces the text typed at the notice. */
export function typeAtNotice(device: TerminalDevice, line: TextBuffer): void {
  const { notice, ...taken } = openTaken(device);
  if (notice !== undefined) takenPrompts.set(device, { ...taken, notice: { ...notice, line } });
}

export function noteShown(device: TerminalDevice): void {
  const taken = openTaken(device);
  if (taken.notice !== undefined) taken.notice = { ...taken.notice, isShown: true };
}

/** The user has seen it. Returns the text typed there, which can be fetched from now on. */
export function dismissNotice(device: TerminalDevice): string {
  const { notice, unsent } = openTaken(device);
  const text = notice?.line.text ?? "";
  takenPrompts.set(device, { unsent: unsent + text });
  return text.trim();
}

/**
 * Keys that came while the prompt opened are not sent either. They dismiss the notice only if it was on the screen by
 * then. Returns whether they did.
 */
export function typeEarly(
  device: TerminalDevice,
  keys: readonly Key[],
  wasShown: boolean,
): "dismissed" | "open" {
  for (const key of keys) {
    const notice = findNotice(device);
    if (notice === undefined) break;
    if (isDismissing(key) && (wasShown || notice.isShown === true)) return "dismissed";
    const isEnter = key.type === "named" && key.name === "enter";
    const line = notice.isSecret ? undefined : editBuffer(notice.line, isEnter ? NEW_LINE : key);
    if (line !== undefined) typeAtNotice(device, line);
  }
  return "open";
}

const NEW_LINE: Key = { type: "named", name: "new-line" };

export function noticeWidget({
  message,
  isSecret,
}: TakenNotice): Widget<TextBuffer, { readonly type: "dismissed" }> {
  return {
    isMultiline: true,
    takesCancelKeys: true,
    update: (buffer, key) => {
      if (isDismissing(key)) return { ending: { type: "dismissed" } };
      return { state: isSecret ? buffer : (editBuffer(buffer, key) ?? buffer) };
    },
    view: (buffer, canvas) => viewNotice(message, buffer, canvas),
  };
}

function isDismissing(key: Key): boolean {
  return isCancelKey(key) || (key.type === "named" && DISMISSING.has(key.name));
}

function viewNotice(message: string, buffer: TextBuffer, canvas: Canvas): Frame {
  const { columns, paint } = canvas;
  const head = wrapWords(message, columns).map((row) => paint("yellow", row));
  const start = NOT_SENT.length + 3;
  const { rows, cursor } = layOutText(buffer, { columns, start, indent: 2 });
  const [first = "", ...others] = rows;
  const body = [`  ${NOT_SENT} ${first}`.trimEnd(), ...others];
  const foot = footerRows({ hasMore: false }, { own: ["Enter continue"] }, canvas);
  const stacked = stackRows({ head, body, active: cursor.row, foot }, canvas.rows);
  return { rows: stacked.rows, cursor: { row: stacked.activeRow, column: cursor.column } };
}

function openTaken(device: TerminalDevice): TakenPrompts {
  const taken = takenPrompts.get(device) ?? { unsent: "" };
  takenPrompts.set(device, taken);
  return taken;
}
