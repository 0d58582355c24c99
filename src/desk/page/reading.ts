/** Whether someone has seen what they decide about: a yes that acts counts only once its end has been in view. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** The buttons at the bottom cover what is behind them. In pixels. */
const BAR_HEIGHT = 120;

interface Reading {
  /** Undefined until the browser has said it. */
  readonly isRead: boolean | undefined;
  /** Of the element after everything there is to read. */
  readonly end: RefObject<HTMLSpanElement | null>;
}

/** Starts anew with another content. `isShown`: whether the end is on the page at all. */
export function useReading(content: string, isShown: boolean): Reading {
  const end = useRef<HTMLSpanElement>(null);
  const [reading, setReading] = useState({ content, isRead: undefined as boolean | undefined });
  useEffect(() => {
    const { current } = end;
    if (current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const isInView = entries.some(({ isIntersecting }) => isIntersecting);
        setReading((before) => ({
          content,
          isRead: isInView || (before.content === content && before.isRead === true),
        }));
      },
      { rootMargin: `0px 0px -${BAR_HEIGHT}px 0px` },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, [content, isShown]);
  return { isRead: reading.content === content ? reading.isRead : undefined, end };
}
