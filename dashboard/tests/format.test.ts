import { describe, expect, it } from "vitest";
import * as f from "../src/logic/format";

describe("numbers", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [9999, "9,999"],
    [12_345, "12.3k"],
    [999_900, "1.00M"],
    [1_500_000_000, "1.50G"],
    [-20_000, "-20.0k"],
  ])("%d is %s", (value, text) => expect(f.count(value)).toBe(text));

  it("says nothing of what is not there", () => {
    for (const show of [f.count, f.rate, f.bytes, f.percent, f.duration, f.timestamp])
      expect(show(undefined)).toBe("–");
    expect(f.duration(-1)).toBe("–");
  });

  it.each([
    [0, "0/s"],
    [2.34, "2.3/s"],
    [1234, "1.23k/s"],
  ])("a rate of %d is %s", (value, text) => expect(f.rate(value)).toBe(text));

  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1536, "1.5 KB"],
    [5 * 1024 ** 3, "5.0 GB"],
    [1023.9 * 1024, "1.0 MB"],
  ])("%d bytes are %s", (value, text) => expect(f.bytes(value)).toBe(text));
});

describe("durations", () => {
  it.each([
    [0, "0 ms"],
    [1.24, "1.2 ms"],
    [812.5, "813 ms"],
    [9900, "9.9 s"],
    [59_400, "59 s"],
    [60_000, "1 min"],
    [125_000, "2 min 5 s"],
    [3_600_000, "1 h"],
    [11_520_000, "3 h 12 min"],
    [187_200_000, "2 d 4 h"],
  ])("%d ms are %s", (value, text) => expect(f.duration(value)).toBe(text));
});

describe("watermarks", () => {
  const now = new Date(2026, 10, 16, 12, 0, 0).getTime();

  it("are clocks when they mean these days", () => {
    expect(f.watermark(now - 1000, now)).toBe("11:59:59");
    expect(f.watermark(now - 86_400_000, now)).toBe("2026-11-15 12:00:00");
  });

  it("are numbers when they count something else", () => {
    expect(f.watermark(4711, now)).toBe("4,711");
  });

  it("are nothing before the first and after the last", () => {
    expect(f.watermark(-9223372036854775808, now)).toBe("–");
    expect(f.watermark(9223372036854775807, now)).toBe("–");
    expect(f.watermark(null, now)).toBe("–");
  });
});
