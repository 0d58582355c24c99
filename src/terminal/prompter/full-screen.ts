/** A screen of its own; the other one comes back as it was. */
import { canvasOf, clip, type Surface, type View } from "./surface.ts";
import type { Terminal } from "./terminal-device.ts";

const ENTER = "\u001b[?1049h";
const LEAVE = "\u001b[?1049l";
const CLEAR = "\u001b[H\u001b[2J";

export class FullScreen implements Surface {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.write(ENTER);
    process.once("exit", this.#leave); // The process may be ended in the middle.
  }

  draw(view: View): void {
    const { rows } = clip(view(canvasOf(this.#terminal)), this.#terminal.size);
    this.#terminal.write(CLEAR + rows.join("\r\n"));
  }

  wipe(): void {
    process.off("exit", this.#leave);
    this.#leave();
  }

  readonly #leave = () => this.#terminal.write(LEAVE);
}
