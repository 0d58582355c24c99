/**
 * Tracks whether a person has seen what they decide on: an action can be approved only once its end has been in view.
 */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Covered by the buttons at the bottom, in pixels. */
const BAR_HEIGHT = 120;

interface Reading {
  /** `below` and `sideways` say where something has not been in view yet. Undefined until the browser reports it. */
  readonly progress: Progress | undefined;
  /** The element after everything there is to read. */
  readonly end: RefObject<HTMLSpanElement | null>;
}

type Progress = "below" | "sideways" | "read";

/**
 * Starts over when anything new is to be read, and not when some of it is gone. `isShown`: whether the end is on the
 * page at all.
 */
export function useReading(contents: readonly string[], isShown: boolean): Reading {
  const end = useRef<HTMLSpanElement>(null);
  const [read, setRead] = useState<readonly string[]>([]);
  const content = JSON.stringify(contents);
  const [reading, setReading] = useState({ content, progress: undefined as Progress | undefined });
  useEffect(() => {
    const { current } = end;
    if (current === null) return;
    return watch(current, (progress) => {
      setReading({ content, progress });
      if (progress === "read") setRead((before) => [...before, ...contents]);
    });
  }, [content, isShown]);
  if (contents.every((each) => read.includes(each))) return { progress: "read", end };
  return { progress: reading.content === content ? reading.progress : undefined, end };
}

/** Returns a function that stops watching. Pressing End counts as reading everything. */
function watch(end: Element, onProgress: (progress: Progress) => void): () => void {
  const within = end.parentElement ?? end;
  const seen = new WeakSet<Element>();
  let isEndSeen: boolean | undefined;
  let hasPressedEnd = false;
  const update = () => {
    if (isEndSeen === undefined) return;
    const blocks = hasPressedEnd ? [] : [...within.querySelectorAll(".sideways")];
    for (const block of blocks.filter(isAtRightEnd)) seen.add(block);
    if (!isEndSeen) onProgress("below");
    else onProgress(blocks.every((block) => seen.has(block)) ? "read" : "sideways");
  };
  const onKey = ({ key }: KeyboardEvent) => {
    if (key !== "End") return;
    hasPressedEnd = true;
    update();
  };
  const observer = new IntersectionObserver(
    (entries) => {
      isEndSeen = entries.some(({ isIntersecting }) => isIntersecting) || isEndSeen === true;
      update();
    },
    { rootMargin: `0px 0px -${BAR_HEIGHT}px 0px` },
  );
  observer.observe(end);
  const resizes = new ResizeObserver(update); // Wrapping may have changed.
  resizes.observe(within);
  within.addEventListener("scroll", update, { capture: true });
  document.addEventListener("keydown", onKey);
  return () => {
    observer.disconnect();
    resizes.disconnect();
    within.removeEventListener("scroll", update, { capture: true });
    document.removeEventListener("keydown", onKey);
  };
}

/** Also true if nothing is cut off. */
function isAtRightEnd({ scrollLeft, clientWidth, scrollWidth }: Element): boolean {
  return scrollLeft + clientWidth >= scrollWidth - 1;
}
