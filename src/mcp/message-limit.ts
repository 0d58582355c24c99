/** How large one message of a server may be, whichever way it comes. */

/** Enough for a result with a few large images. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

export function messageTooLong(): RangeError {
  return new RangeError(`it sent a message of more than ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB`);
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Passes a body on until a message in it is too long: in a stream of events each is one, else the whole body. */
export function limitMessages(
  { body, status, statusText, headers }: Response,
  onTooLong: (error: RangeError) => void,
): Response {
  const [mediaType = ""] = headers.get("content-type")?.split(";", 1) ?? [];
  const isEvents = mediaType.trim().toLowerCase() === "text/event-stream";
  const counter = new MessageCounter(isEvents);
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      if (counter.add(piece) <= MAX_MESSAGE_BYTES) return controller.enqueue(piece);
      const error = messageTooLong();
      controller.error(error);
      return onTooLong(error);
    },
  });
  return new Response(body?.pipeThrough(limit) ?? null, { status, statusText, headers });
}

class MessageCounter {
  readonly #isEvents: boolean;
  #bytes = 0;
  #previous = 0;
  #isLineEmpty = true;

  constructor(isEvents: boolean) {
    this.#isEvents = isEvents;
  }

  /** The length so far of the longest message in this piece. */
  add(piece: Uint8Array): number {
    if (!this.#isEvents) return (this.#bytes += piece.length);
    let longest = 0;
    for (const byte of piece) {
      this.#bytes += 1;
      if (this.#bytes > longest) longest = this.#bytes;
      this.#follow(byte);
    }
    return longest;
  }

  /** An empty line ends an event; lines end with CR, LF, or both. */
  #follow(byte: number): void {
    const isSecondHalf = byte === LINE_FEED && this.#previous === CARRIAGE_RETURN;
    this.#previous = byte;
    if (isSecondHalf) return;
    const isLineEnd = byte === LINE_FEED || byte === CARRIAGE_RETURN;
    if (isLineEnd && this.#isLineEmpty) this.#bytes = 0;
    this.#isLineEmpty = isLineEnd;
  }
}
