/** A modal question with fields: the browser keeps the focus inside and closes it with Escape. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  title: string;
  confirm: string;
  danger?: boolean;
  onConfirm: (data: FormData) => void;
  onClose: () => void;
  children?: ComponentChildren;
}

export function Dialog({ title, confirm, danger, onConfirm, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const submitted = (event: SubmitEvent) => {
    event.preventDefault();
    onConfirm(new FormData(event.currentTarget as HTMLFormElement));
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <form onSubmit={submitted}>
        <h2 id={heading}>{title}</h2>
        {children}
        <div class="row end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Back
          </button>
          <button type="submit" class={danger ? "danger" : "primary"}>
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
