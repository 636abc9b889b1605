/** The operators of a vertex, from its plan or, without one, from its name. */

import type { PlanNode } from "../api/types";

export function operatorsOf(node: PlanNode): string[] {
  if (node.operators?.length) return node.operators.map((o) => o.name);
  return splitChain(node.description);
}

/** `a -> (b -> c, d)` is a, b, c, d: the parts in the order in which they are written. */
export function splitChain(name: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  const end = () => {
    if (part.trim()) parts.push(part.trim());
    part = "";
  };
  for (let i = 0; i < name.length; i += 1) {
    const char = name[i] as string;
    if (name.startsWith(" -> ", i)) {
      end();
      i += 3;
      // A group of branches begins right after an arrow; other parentheses belong to a name.
      if (name[i + 1] === "(") {
        depth += 1;
        i += 1;
      }
    } else if (depth > 0 && balanced(part) && char === "," && name[i + 1] === " ") {
      end();
      i += 1;
    } else if (depth > 0 && balanced(part) && char === ")") {
      end();
      depth -= 1;
    } else {
      part += char;
    }
  }
  end();
  return parts;
}

function balanced(part: string): boolean {
  return part.split("(").length === part.split(")").length;
}

/** The name of a vertex with arrows as people draw them. */
export function arrows(name: string): string {
  return name.replaceAll(" -> ", " → ");
}

/** Long names lose their middle, where they differ least. */
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) / 3);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(name.length - tail)}`;
}
