import { Component, type ReactNode } from "react";
import { Button } from "./button";
import { Failure } from "./notice";

/** Boundary keeps what fails in one screen from the others. at is the screen's address. */
export class Boundary extends Component<{ at: string; children: ReactNode }, { error: unknown; at: string }> {
  override state = { error: undefined as unknown, at: this.props.at };
  static getDerivedStateFromError = (error: unknown) => ({ error });
  static getDerivedStateFromProps = (props: { at: string }, state: { at: string }) =>
    props.at === state.at ? null : { error: undefined, at: props.at };
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <>
        <Failure error={this.state.error} safe="Nothing was changed. A newer server may have other files." />
        <Button onClick={() => location.reload()}>Load the page again</Button>
      </>
    );
  }
}
