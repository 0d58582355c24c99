/** Bad environments for a turn: full disks, read-only folders, clocks that jump back. */
import { cpSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { mountDisk, remountDisk, unmountDisk } from "../support/small-disk.ts";
import type { Workplace } from "./place.ts";
import type { Round } from "./round.ts";

const GOOD = { fault: { type: "none" }, server: "none" } as const;
const PAGE = 4096;
const FILLER = "filler";
const COPY = { recursive: true, verbatimSymlinks: true };

/** The disk of the workspace, or of the user's folder, has only a few pages left. */
export function fullDisks(pages: readonly number[]): Round[] {
  return placesOfConversations().flatMap(({ under, isContinued, name }) =>
    pages.map((count) => ({
      ...GOOD,
      isContinued,
      name: `a disk with ${count} pages left ${name}`,
      spoil: (place: Workplace) => {
        const disk = new SmallDisk(place[under]);
        disk.fill(count);
        return () => disk.remove();
      },
    })),
  );
}

export function readOnlyFolders(): Round[] {
  return placesOfConversations().map(({ under, isContinued, name }) => ({
    ...GOOD,
    isContinued,
    name: `a folder that may only be read ${name}`,
    spoil: (place: Workplace) => {
      const disk = new SmallDisk(place[under]);
      remountDisk(place[under], "ro");
      return () => disk.remove();
    },
  }));
}

function placesOfConversations() {
  return (["root", "data"] as const).flatMap((under) =>
    [false, true].map((isContinued) => ({
      under,
      isContinued,
      name: `under ${under}, ${isContinued ? "in the second turn" : "from the beginning"}`,
    })),
  );
}

/** The system clock jumps back by an hour, at different moments of the turn. */
export function jumpingClocks(looks: readonly number[]): Round[] {
  return looks.map((clockJumpsAfter) => ({
    ...GOOD,
    name: `a clock that jumps back after ${clockJumpsAfter} looks`,
    clockJumpsAfter,
  }));
}

/** An in-memory file system that replaces a folder and keeps its content. */
class SmallDisk {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    const aside = this.#copyAside();
    mountDisk(folder);
    cpSync(aside, folder, COPY);
    rmSync(aside, { recursive: true });
  }

  /** Fills the disk except for some pages. */
  fill(pages: number): void {
    const { bfree } = statfsSync(this.#folder);
    writeFileSync(path.join(this.#folder, FILLER), Buffer.alloc((bfree - pages) * PAGE));
  }

  /** Unmounts it. The files stay in the folder. */
  remove(): void {
    remountDisk(this.#folder, "rw");
    rmSync(path.join(this.#folder, FILLER), { force: true });
    const aside = this.#copyAside();
    unmountDisk(this.#folder);
    rmSync(this.#folder, { recursive: true });
    renameSync(aside, this.#folder);
  }

  #copyAside(): string {
    const aside = `${this.#folder}-aside`;
    cpSync(this.#folder, aside, COPY);
    return aside;
  }
}
