/** An in-memory terminal: it delivers the keys that a test sends, and keeps the output. */
import { styleText } from "node:util";
import type { Paint } from "../../src/surfaces/render/index.ts";
import type { Terminal } from "../../src/surfaces/terminal/terminal.ts";
import type { Size } from "../../src/surfaces/terminal/widget.ts";

type Events = Parameters<Terminal["listen"]>[0];
type Sent = Parameters<NonNullable<Events>["onInput"]>[0];

export class FakeTerminal implements Terminal {
  readonly paint: Paint = (style, text) => styleText(style, text, { validateStream: false });
  size: Size;
  isClosed = false;
  written = "";
  #events: Events;

  constructor(size: Size) {
    this.size = size;
  }

  get isListening(): boolean {
    return this.#events !== undefined;
  }

  write(text: string): void {
    this.written += text;
  }

  listen(events: Events): void {
    this.#events = events;
  }

  send(sent: Sent): void {
    this.#events?.onInput(sent);
  }

  resize(size: Size): void {
    this.size = size;
    this.#events?.onResize();
  }

  suspend(): void {
    this.#events?.onContinue?.();
  }

  hangUp(): void {
    this.isClosed = true;
    this.#events?.onClose();
  }

  [Symbol.dispose](): void {
    this.#events = undefined;
  }
}
