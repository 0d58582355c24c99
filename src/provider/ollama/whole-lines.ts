/** Only whole lines pass. The client prints a line that was cut off, and then goes on as if complete. */

export function wholeLines(): TransformStream<Uint8Array, Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.concat([rest, chunk]);
      const end = bytes.lastIndexOf("\n") + 1;
      if (end > 0) controller.enqueue(bytes.subarray(0, end));
      rest = bytes.subarray(end);
    },
    flush(controller) {
      if (isWhole(rest)) controller.enqueue(rest);
      else if (rest.length > 0) controller.error(new Error("terminated"));
    },
  });
}

/** The last line may come without its end. */
function isWhole(line: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(line).toString("utf8"));
    return true;
  } catch {
    return false;
  }
}
