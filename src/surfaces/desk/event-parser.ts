/** Parses the desk's event stream, for the page and for `DeskClient`. */
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

/** An event as the server sends it. */
export interface StreamEvent {
  readonly id?: string;
  readonly type: string;
  readonly data: JsonObject;
}

/** Parses `text/event-stream` in chunks of any size. Skips events whose data is not a JSON object. */
export class EventParser {
  #rest = "";
  #type = "";
  #id: string | undefined;
  #data: string[] = [];

  /** Returns the events that this chunk completes. */
  push(piece: string): readonly StreamEvent[] {
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#readLine(line));
  }

  #readLine(line: string): readonly StreamEvent[] {
    if (line === "") return this.#dispatch();
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === "event") this.#type = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    return [];
  }

  #dispatch(): readonly StreamEvent[] {
    const [type, text] = [this.#type, this.#data.join("\n")];
    this.#type = "";
    this.#data = [];
    const data = parseObject(text);
    if (data === undefined || type === "") return [];
    return [{ type, data, ...(this.#id !== undefined && { id: this.#id }) }];
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const json = JSON.parse(text) as Json; // JSON.parse gives JSON.
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
