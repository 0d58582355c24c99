// Owns the shape of one entry of the conformance manifest; the entries are in the files beside it.
export interface Requirement {
  readonly id: string;
  readonly source: string;
  readonly text: string;
  readonly state: "met" | "planned";
  readonly deviation?: string;
}
