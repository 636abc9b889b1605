/** Settings by key, with a filter. */

import { useState } from "preact/hooks";
import type { Setting } from "../api/types";
import { Empty, Table } from "./parts";

export function Settings({ caption, settings }: { caption: string; settings: readonly Setting[] }) {
  const [filter, setFilter] = useState("");
  const wanted = filter.toLowerCase();
  const shown = settings.filter((s) => `${s.key} ${s.value}`.toLowerCase().includes(wanted));
  if (settings.length === 0) return <Empty>No settings.</Empty>;
  return (
    <>
      {settings.length > 8 && (
        <div class="row tools">
          <label>
            Keys and values with
            <input type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
          </label>
        </div>
      )}
      <Table
        caption={caption}
        columns={[
          { title: "Key", cell: (s) => <code>{s.key}</code> },
          { title: "Value", wide: true, cell: (s) => <code>{s.value}</code> },
        ]}
        rows={shown}
        keyOf={(s) => s.key}
      />
    </>
  );
}
