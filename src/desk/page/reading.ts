/** Whether someone has seen what they decide about: a yes that acts counts only once its end has been in view. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** The buttons at the bottom cover what is behind them. In pixels. */
const BAR_HEIGHT = 96;

interface Reading {
  readonly isRead: boolean;
  /** Of the element after everything there is to read. */
  readonly end: RefObject<HTMLSpanElement | null>;
}

/** Starts anew with another content. `isShown`: whether the end is on the page at all. */
export function useReading(content: string, isShown: boolean): Reading {
  const end = useRef<HTMLSpanElement>(null);
  const [read, setRead] = useState<string>();
  useEffect(() => {
    const { current } = end;
    if (current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setRead(content);
      },
      { rootMargin: `0px 0px -${BAR_HEIGHT}px 0px` },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, [content, isShown]);
  return { isRead: read === content, end };
}
