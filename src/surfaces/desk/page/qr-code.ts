/** A QR code as an SVG path. Loaded on demand. */
import { correction, generate } from "lean-qr/nano";

export interface QrCode {
  /** One square per dark module. */
  readonly path: string;
  /** Modules per side, without the margin. */
  readonly size: number;
}

/** As small as possible, and with as much correction as fits into that. */
export function toQrCode(text: string): QrCode {
  const codes = [correction.H, correction.Q, correction.M, correction.L].map((minCorrectionLevel) =>
    generate(text, { minCorrectionLevel }),
  );
  const size = Math.min(...codes.map((code) => code.size));
  const code = codes.find((each) => each.size === size);
  const squares: string[] = [];
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) if (code?.get(x, y)) squares.push(`M${x} ${y}h1v1h-1z`);
  }
  return { path: squares.join(""), size };
}
