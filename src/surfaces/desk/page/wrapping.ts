/** Whether long code lines wrap or scroll sideways. The reader chooses, and the browser remembers it. */
import { useEffect, useState } from "preact/hooks";

const STORED = "jp-desk-lines";
const SIDEWAYS = "sideways";

/** One choice for all blocks on the page. */
const choice = { isWrapped: true, listeners: new Set<(isWrapped: boolean) => void>() };

/** Restores the choice from an earlier visit, and stores later ones. */
export function rememberWrapping(storage: Storage): void {
  choice.isWrapped = storage.getItem(STORED) !== SIDEWAYS;
  choice.listeners.add((isWrapped) => {
    if (isWrapped) storage.removeItem(STORED);
    else storage.setItem(STORED, SIDEWAYS);
  });
}

/** Returns the choice and its setter. */
export function useWrapping(): readonly [boolean, (isWrapped: boolean) => void] {
  const [isWrapped, setIsWrapped] = useState(choice.isWrapped);
  useEffect(() => {
    choice.listeners.add(setIsWrapped);
    return () => void choice.listeners.delete(setIsWrapped);
  }, []);
  return [isWrapped, choose];
}

function choose(isWrapped: boolean): void {
  choice.isWrapped = isWrapped;
  for (const listener of choice.listeners) listener(isWrapped);
}
