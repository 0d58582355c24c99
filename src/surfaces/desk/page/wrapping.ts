/** Whether long lines of code are wrapped or scroll sideways. The reader chooses, and the browser remembers it. */
import { useEffect, useState } from "preact/hooks";

const STORED = "jp-desk-lines";
const SIDEWAYS = "sideways";

/** One choice for all blocks of the page. */
const choice = { isWrapped: true, listeners: new Set<(isWrapped: boolean) => void>() };

/** Takes the choice from an earlier visit, and keeps later ones. */
export function rememberWrapping(storage: Storage): void {
  choice.isWrapped = storage.getItem(STORED) !== SIDEWAYS;
  choice.listeners.add((isWrapped) => {
    if (isWrapped) storage.removeItem(STORED);
    else storage.setItem(STORED, SIDEWAYS);
  });
}

/** Returns the choice, and what changes it. */
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
