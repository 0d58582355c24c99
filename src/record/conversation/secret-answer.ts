/** A secret that someone has given, on its way to the tool that asked for it. */

/** Printing it, or turning it into JSON, does not show it: only `reveal` does. */
export class SecretAnswer {
  readonly #given: { readonly answer: string; readonly note?: string };

  constructor(answer: string, note?: string) {
    this.#given = { answer, ...(note !== undefined && { note }) };
  }

  /** Only for the code that passes it on: it must reach no file, log or error. */
  reveal(): { readonly answer: string; readonly note?: string } {
    return this.#given;
  }

  /** As in the record. */
  toJSON(): string {
    return "(secret)";
  }
}
