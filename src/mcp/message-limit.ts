/** How large one message of a server may be, whichever way it comes. */

/** Enough for a result with a few large images. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

export function messageTooLong(): RangeError {
  return new RangeError(`it sent a message of more than ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB`);
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

type Count = (piece: Uint8Array) => number;

/** Passes a body on until a message in it is too long: in a stream of events each is one, else the whole body. */
export function limitMessages(
  { body, status, statusText, headers }: Response,
  onTooLong: (error: RangeError) => void,
): Response {
  const [mediaType = ""] = headers.get("content-type")?.split(";", 1) ?? [];
  const isEvents = mediaType.trim().toLowerCase() === "text/event-stream";
  const count = isEvents ? countEvents() : countBytes();
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      if (count(piece) <= MAX_MESSAGE_BYTES) return controller.enqueue(piece);
      const error = messageTooLong();
      controller.error(error);
      return onTooLong(error);
    },
  });
  return new Response(body?.pipeThrough(limit) ?? null, { status, statusText, headers });
}

function countBytes(): Count {
  let bytes = 0;
  return (piece) => (bytes += piece.length);
}

/** The length so far of the longest event in a piece. An empty line ends one; lines end with CR, LF, or both. */
function countEvents(): Count {
  let bytes = 0;
  let lineBytes = 0;
  let isAfterReturn = false;
  return (piece) => {
    let longest = 0;
    let start = 0;
    for (const end of lineEnds(piece)) {
      lineBytes += end - start;
      bytes += end - start + 1;
      start = end + 1;
      const isSecondHalf = isAfterReturn && lineBytes === 0 && piece[end] === LINE_FEED;
      isAfterReturn = piece[end] === CARRIAGE_RETURN;
      longest = Math.max(longest, bytes);
      if (lineBytes === 0 && !isSecondHalf) bytes = 0;
      lineBytes = 0;
    }
    lineBytes += piece.length - start;
    bytes += piece.length - start;
    return Math.max(longest, bytes);
  };
}

/** Looks for each of the two by itself: that is how a long line is passed over at once. */
function* lineEnds(piece: Uint8Array): Generator<number, void, undefined> {
  let feed = piece.indexOf(LINE_FEED);
  let carriageReturn = piece.indexOf(CARRIAGE_RETURN);
  while (feed !== -1 || carriageReturn !== -1) {
    const isFeed = carriageReturn === -1 || (feed !== -1 && feed < carriageReturn);
    yield isFeed ? feed : carriageReturn;
    if (isFeed) feed = piece.indexOf(LINE_FEED, feed + 1);
    else carriageReturn = piece.indexOf(CARRIAGE_RETURN, carriageReturn + 1);
  }
}
