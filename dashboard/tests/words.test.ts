import { describe, expect, it } from "vitest";
import { parseSettings, splitArguments } from "../src/logic/arguments";
import { shortened, splitChain } from "../src/logic/chain";
import { href, parseRoute } from "../src/logic/route";

describe("arguments", () => {
  it("are split as a shell does", () => {
    expect(splitArguments(`--in 'a b' "c\\"d" e\\ f ''`)).toEqual(["--in", "a b", 'c"d', "e f", ""]);
    expect(splitArguments("  ")).toEqual([]);
  });

  it("want their quotes closed", () => {
    expect(() => splitArguments("'a")).toThrow("not closed");
  });
});

describe("settings", () => {
  it("are lines of a key and a value", () => {
    const text = "# mine\nexecution.checkpointing.interval: 5 s\n\nparallelism.default=2\npath: a=b:c";
    expect(parseSettings(text)).toEqual({
      "execution.checkpointing.interval": "5 s",
      "parallelism.default": "2",
      path: "a=b:c",
    });
  });

  it("name the line that is none", () => {
    expect(() => parseSettings("what")).toThrow('"what"');
  });
});

describe("a chain", () => {
  it("is split at its arrows and branches", () => {
    expect(splitChain("Source: clicks -> valid -> to pair")).toEqual(["Source: clicks", "valid", "to pair"]);
    expect(splitChain("count -> (every 5th -> Sink: print, (rest))")).toEqual([
      "count",
      "every 5th",
      "Sink: print",
      "(rest)",
    ]);
    expect(splitChain("Window(TumblingEventTimeWindows(5000), count)")).toEqual([
      "Window(TumblingEventTimeWindows(5000), count)",
    ]);
  });

  it("is shortened in the middle", () => {
    expect(shortened("a long name of an operator", 12)).toBe("a long n…tor");
    expect(shortened("short", 12)).toBe("short");
  });
});

describe("routes", () => {
  it("come back as they were written", () => {
    const target = href(["jobs", "a/b", "checkpoints"], { vertex: "x y", nothing: undefined });
    expect(parseRoute(target)).toEqual({ path: ["jobs", "a/b", "checkpoints"], query: { vertex: "x y" } });
  });

  it("never fail", () => {
    expect(parseRoute("").path).toEqual([]);
    expect(parseRoute("#/jobs/%zz").path).toEqual(["jobs", "%zz"]);
  });
});
