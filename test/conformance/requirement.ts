// One entry of the conformance manifest. The entries are in the rfd files.
export interface Requirement {
  readonly id: string;
  readonly source: string;
  readonly text: string;
  readonly state: "met" | "planned";
  readonly deviation?: string;
}
